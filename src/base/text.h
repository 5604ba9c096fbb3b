// Small text helpers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace moetune {

// The up to `most` names nearest to `word` by edit distance, nearest first; for "did you mean".
std::vector<std::string> nearest_names(std::string_view word, const std::vector<std::string>& names, int most = 3);

// n separators give n + 1 parts, so empty parts are kept and "" gives one empty part.
std::vector<std::string> split(std::string_view text, char separator);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace moetune
