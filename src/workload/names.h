// Names that reach file names, and lists for messages. Private to this layer.
#pragma once

#include <string>
#include <vector>

namespace moetune {

// `name` as one part of a file name: letters, digits, '.', '_' and '-' only, never empty, never hidden.
std::string safe_name(const std::string& name);

// "unknown WHAT 'NAME'; known are A, B, C", nearest first.
std::string unknown_name(const std::string& what, const std::string& name, const std::vector<std::string>& known);

std::string comma_separated(const std::vector<int>& values);

}  // namespace moetune
