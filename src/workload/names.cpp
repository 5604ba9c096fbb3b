#include "workload/names.h"

#include <cctype>

#include "base/text.h"

namespace moetune {

std::string safe_name(const std::string& name) {
  std::string safe;
  for (const unsigned char c : name) {
    const bool keep = c < 128 && (std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-');
    safe += keep ? static_cast<char>(c) : '-';
  }
  const std::size_t first = safe.find_first_not_of('.');
  return first == std::string::npos ? "model" : safe.substr(first);
}

std::string unknown_name(const std::string& what, const std::string& name, const std::vector<std::string>& known) {
  return "unknown " + what + " '" + name + "'; known are " +
         join(nearest_names(name, known, static_cast<int>(known.size())), ", ");
}

std::string comma_separated(const std::vector<int>& values) {
  std::vector<std::string> parts;
  for (const int value : values) parts.push_back(std::to_string(value));
  return join(parts, ", ");
}

}  // namespace moetune
