#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "workload/workload.h"

namespace moetune {
namespace {

constexpr int kMostTokens = 1 << 24;
constexpr std::size_t kMostCounts = 10000;

[[noreturn]] void fail(const std::string& part, const std::string& why) {
  throw Error(ExitCode::usage, "token counts: '" + part + "' " + why + "; give e.g. 1,2,4 or 1-16 or 1-8,64");
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

int parse_count(const std::string& part, std::string_view text) {
  text = trimmed(text);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size();
  if (error == std::errc::result_out_of_range || value > kMostTokens) {
    fail(part, "is more than " + std::to_string(kMostTokens) + " tokens");
  }
  if (error != std::errc() || !whole) fail(part, "is no whole number or range");
  if (value < 1) fail(part, "is less than one token");
  return value;
}

}  // namespace

const std::vector<int>& default_token_counts() {
  static const std::vector<int> counts = {1,  2,   4,   8,   16,   24,   32,   48,   64,
                                          96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096};
  return counts;
}

std::vector<int> parse_token_counts(const std::string& text) {
  std::vector<int> counts;
  for (const std::string& part : split(text, ',')) {
    // From the second character, so that "-3" is a bad number and not a range without a start.
    const std::size_t dash = trimmed(part).find('-', 1);
    const std::string_view whole = trimmed(part);
    const int first = parse_count(part, whole.substr(0, dash));
    const int last = dash == std::string_view::npos ? first : parse_count(part, whole.substr(dash + 1));
    if (last < first) fail(part, "ends before it starts");
    if (counts.size() + static_cast<std::size_t>(last - first) >= kMostCounts) {
      fail(part, "makes more than " + std::to_string(kMostCounts) + " token counts");
    }
    for (int count = first; count <= last; ++count) counts.push_back(count);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

}  // namespace moetune
