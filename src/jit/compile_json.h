// CompileResult as JSON: what cache entries and compile workers' answers hold.
#pragma once

#include "base/json.h"
#include "jit/compile.h"

namespace moetune {

Json to_json(const CompileResult& result);

// Throws nlohmann's exceptions for a missing or mistyped field.
CompileResult compile_result_from_json(const Json& json);

// One line; bytes that are not UTF-8 (a compiler may print any) are replaced.
std::string one_line(const Json& json);

}  // namespace moetune
