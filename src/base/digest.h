// Content digests for cache keys and staleness checks (not for security).
#pragma once

#include <string>
#include <string_view>

namespace moetune {

// XXH3-128 of the bytes, as 32 lower-case hexadecimal digits.
std::string digest(std::string_view bytes);

}  // namespace moetune
