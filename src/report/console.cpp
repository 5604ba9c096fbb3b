#include "report/console.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"

namespace moetune {
namespace {

constexpr const char* row_format = "{:>6}  {:<6}  {:<23}{:>9}{:>9}{:>9}{:>10}{:>9}{:>13}  {:<9} {}";

std::string number(double value, int digits) { return value > 0 ? fmt::format("{:.{}f}", value, digits) : "-"; }

std::string percent(double part, double whole) {
  return part > 0 && whole > 0 ? fmt::format("{:.0f}%", 100 * part / whole) : "-";
}

bool tied_with_others(const Choice& choice) {
  int tied = 0;
  for (const Finalist& finalist : choice.finalists) tied += finalist.tied;
  return choice.winner.tied && tied > 1;
}

std::string speed_up(const Choice& choice, bool baseline_ran) {
  if (!baseline_ran) return "-";
  if (choice.is_baseline) return "=";
  return fmt::format("{:.2f}x{}", 1 / choice.winner.to_baseline.ratio, tied_with_others(choice) ? " ~" : "");
}

// `tokens` and `counts` are empty on the second line of a token count.
void print_line(std::ostream& out, const Workload& workload, const TokenResult& result, const std::string& tokens,
                const char* file, const Choice& choice, const PlanTimes& times, const std::string& counts) {
  const double pair_us = times.pair.median;
  const double gigabytes = pair_us > 0 ? active_weight_bytes(workload, result.problem) / pair_us * 1e-3 : 0;
  const double teraflops = pair_us > 0 ? gemm_flops(workload, result.problem) / pair_us * 1e-6 : 0;
  std::string line =
      fmt::format(row_format, tokens, file, short_form(choice.winner.config), number(pair_us, 1), number(gigabytes, 0),
                  number(teraflops, 1), number(result.floor_us.median, 1), percent(result.floor_us.median, pair_us),
                  number(result.baseline_times.pair.median, 1), speed_up(choice, result.baseline_ran), counts);
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

}  // namespace

std::string short_form(const Config& config) {
  for (const char* name : {"BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages"}) {
    if (config.has(name)) continue;
    std::vector<std::string> parts;
    for (const auto& [parameter, value] : config.values) parts.push_back(fmt::format("{}={}", parameter, value));
    return join(parts, " ");
  }
  return fmt::format("{}x{}x{} g{} w{} s{}", config.at("BLOCK_SIZE_M"), config.at("BLOCK_SIZE_N"),
                     config.at("BLOCK_SIZE_K"), config.at("GROUP_SIZE_M"), config.at("num_warps"),
                     config.at("num_stages"));
}

std::string outcome_counts(const std::map<Outcome, int>& outcomes) {
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : outcomes) {
    if (count > 0 && outcome == Outcome::ok) parts.insert(parts.begin(), fmt::format("{} ok", count));
    if (count > 0 && outcome != Outcome::ok) parts.push_back(fmt::format("{} {}", count, name_of(outcome)));
  }
  return join(parts, ", ");
}

double active_weight_bytes(const Workload& workload, const ProblemAnswer& problem) {
  return problem.active_experts * static_cast<double>(w1_bytes_per_expert(workload) + w2_bytes_per_expert(workload));
}

double gemm_flops(const Workload& workload, const ProblemAnswer& problem) {
  const double shard = workload.shard(), hidden = workload.hidden;
  return 2 * problem.slots * (2 * shard * hidden + hidden * shard);
}

void print_token_header(std::ostream& out) {
  out << fmt::format(row_format, "tokens", "file", "winner", "pair us", "GB/s", "TFLOP/s", "floor us", "% floor",
                     "baseline us", "speed-up", "trials")
      << '\n';
}

void print_token_row(std::ostream& out, const Workload& workload, const TokenResult& result) {
  const std::string tokens = std::to_string(result.tokens);
  const std::string counts = outcome_counts(result.outcomes);
  if (!result.engine.found && !result.native.found) {
    out << fmt::format("{:>6}  no config ran: {}\n", tokens, counts);
    return;
  }
  if (result.engine.found && result.native.found && result.engine.winner.plan == result.native.winner.plan) {
    print_line(out, workload, result, tokens, "both", result.engine, result.engine_times, counts);
    return;
  }
  if (result.engine.found) {
    print_line(out, workload, result, tokens, "engine", result.engine, result.engine_times, counts);
  }
  if (result.native.found) {
    const bool first = !result.engine.found;
    print_line(out, workload, result, first ? tokens : "", "native", result.native, result.native_times,
               first ? counts : "");
  }
}

}  // namespace moetune
