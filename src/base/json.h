// The JSON type of the whole tool: keys keep their order, so files read as they were written.
#pragma once

#include <nlohmann/json.hpp>

namespace moetune {

using Json = nlohmann::ordered_json;

}  // namespace moetune
