#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>

#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/open_device.h"
#include "kernels/family.h"
#include "measure/statistics.h"
#include "results/bench_json.h"
#include "results/record.h"
#include "results/winners.h"

namespace moetune {

namespace {

// What to measure at a token count, and where it came from.
struct Chosen {
  Plan plan;
  std::string origin;
};
using Choose = std::function<Chosen(int tokens)>;

Choose chooser(const BenchArguments& arguments, const Workload& w) {
  if (!arguments.config_file.empty() && !arguments.winners_file.empty()) {
    throw Error(ExitCode::usage, "give --config or --winners, not both");
  }
  if (!arguments.config_file.empty()) {
    return [&w, file = read_engine_file(arguments.config_file)](int tokens) -> Chosen {
      return {portable_plan(w, tokens, engine_config_for(file, tokens)),
              fmt::format("entry {}", engine_key_for(file, tokens))};
    };
  }
  if (!arguments.winners_file.empty()) {
    NativeFile file = read_native_file(arguments.winners_file);
    if (workload_slug(file.workload) != workload_slug(w)) {
      throw Error(ExitCode::usage, fmt::format("{} holds winners of {}, not of {}", arguments.winners_file,
                                               workload_slug(file.workload), workload_slug(w)));
    }
    return [file](int tokens) -> Chosen {
      const auto found = file.winners.find(tokens);
      if (found == file.winners.end()) {
        throw Error(ExitCode::usage,
                    fmt::format("the winners file has no plan for {} tokens; choose with --tokens", tokens));
      }
      return {found->second.plan, "winner"};
    };
  }
  return [&w](int tokens) -> Chosen {
    return {portable_plan(w, tokens, engine_default_config(w, tokens)), "default rule"};
  };
}

std::optional<BenchTime> time_of(const std::vector<double>& samples) {
  if (samples.empty()) return std::nullopt;
  const Summary s = summarise(samples);
  return BenchTime{s.median, s.p10, s.p90};
}

class Bench {
 public:
  Bench(Executor& executor, const Workload& w, int rounds, std::uint64_t seed)
      : executor_(executor), workload_(w), rounds_(rounds), seed_(seed) {}

  BenchRow row(int tokens, const Plan& plan) {
    BenchRow row;
    row.tokens = tokens;
    row.plan = plan;
    row.samples = rounds_;
    const ProblemAnswer problem = executor_.open(tokens);
    if (problem.outcome != Outcome::ok) {
      const bool usage = problem.outcome == Outcome::memory || problem.outcome == Outcome::unrecorded;
      throw Error(usage ? ExitCode::usage : ExitCode::no_device,
                  fmt::format("cannot prepare {} tokens ({}): {}", tokens, name_of(problem.outcome), problem.log));
    }
    row.active_experts = problem.active_experts;
    row.l2_ratio = problem.l2_ratio;
    const Plan baseline = portable_plan(workload_, tokens, engine_default_config(workload_, tokens));
    check_plan({workload_, tokens, executor_.limits()}, plan);
    for (const Plan* one : {&plan, &baseline}) compile({workload_, tokens, executor_.limits()}, *one);
    const ValidateAnswer validation = executor_.validate(plan);
    row.valid = validation.outcome == Outcome::ok;
    // What a journal does not hold is no fault of the plan; its values are null.
    failed_ |= !row.valid && validation.outcome != Outcome::unrecorded;
    row.rel_err = validation.rel_err;
    row.worst_token_err = validation.worst_token_err;
    if (!row.valid) row.invalid_reason = reason(validation);
    const bool runs = row.valid || validation.outcome == Outcome::wrong || validation.outcome == Outcome::unrecorded;
    if (!runs) return row;
    row.gemm1 = measure(Quantity::gemm1, {plan})[0];
    row.gemm2 = measure(Quantity::gemm2, {plan})[0];
    measure_pairs(plan, baseline, row);
    row.op = measure(Quantity::op, {plan})[0];
    row.floor = measure(Quantity::floor, {})[0];
    return row;
  }

  bool failed() const { return failed_; }  // a plan was wrong or did not run

 private:
  static std::string reason(const ValidateAnswer& answer) {
    return name_of(answer.outcome) + (answer.log.empty() ? "" : ": " + answer.log.substr(0, answer.log.find('\n')));
  }

  // Interleaved, so that both meet the same clocks; apart when one of them fails or is not recorded.
  void measure_pairs(const Plan& plan, const Plan& baseline, BenchRow& row) {
    if (plan == baseline) {
      row.pair = row.baseline_pair = measure(Quantity::pair, {plan})[0];
      return;
    }
    const auto both = measure(Quantity::pair, {plan, baseline});
    row.pair = both[0] ? both[0] : measure(Quantity::pair, {plan})[0];
    row.baseline_pair = both[1] ? both[1] : measure(Quantity::pair, {baseline})[0];
  }

  void compile(const Problem& problem, const Plan& plan) {
    const std::vector<KernelSource> kernels = kernels_of(problem, plan);
    executor_.prefetch(kernels);
    for (const KernelSource& kernel : kernels) {
      const CompileAnswer answer = executor_.compile(kernel);
      if (answer.outcome == Outcome::compile) {
        throw Error(ExitCode::usage, fmt::format("{} does not compile: {}", kernel.expression,
                                                 answer.log.substr(0, answer.log.find('\n'))));
      }
    }
  }

  std::vector<std::optional<BenchTime>> measure(Quantity quantity, const std::vector<Plan>& plans) {
    const MeasureAnswer answer = executor_.measure({quantity, plans, rounds_, 0, seed_, "bench"});
    std::vector<std::optional<BenchTime>> times(std::max<std::size_t>(1, plans.size()));
    for (std::size_t i = 0; i < times.size() && answer.outcome == Outcome::ok; ++i) {
      times[i] = time_of(answer.samples_us.at(i));
    }
    return times;
  }

  Executor& executor_;
  const Workload& workload_;
  int rounds_;
  std::uint64_t seed_;
  bool failed_ = false;
};

std::string cell(const std::optional<BenchTime>& time) { return time ? fmt::format("{:.1f}", time->median) : "-"; }

void print_row(const BenchRow& r, const std::string& origin) {
  const std::string share = r.floor && r.pair ? fmt::format("{:.0f}%", 100 * r.floor->median / r.pair->median) : "-";
  const std::string speed_up =
      r.pair && r.baseline_pair ? fmt::format("{:.2f}x", r.baseline_pair->median / r.pair->median) : "-";
  std::cout << fmt::format("{:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>9} {:>7} {:>10} {:>9.2g}  {}\n", r.tokens,
                           cell(r.gemm1), cell(r.gemm2), cell(r.pair), cell(r.op), cell(r.floor), share,
                           cell(r.baseline_pair), speed_up,
                           r.valid ? "valid" : r.invalid_reason.substr(0, r.invalid_reason.find(':')), r.rel_err,
                           r.valid ? origin : origin + "; " + r.invalid_reason);
  std::cout.flush();
}

}  // namespace

ExitCode run_bench(const BenchArguments& arguments) {
  apply(arguments.device);
  const Workload w = workload_of(arguments.workload);
  const Choose choose = chooser(arguments, w);
  const std::vector<int> tokens = tokens_of(arguments.workload);
  if (!arguments.json_file.empty()) {
    check_writable(std::filesystem::absolute(arguments.json_file).parent_path(), "--json");
  }
  const int most = *std::max_element(tokens.begin(), tokens.end());
  OpenedDevice device = open_device(arguments.device, arguments.workload, w, {}, most, true, arguments.command_line);
  BenchFile file;
  file.device = device.run.device.name;
  file.environment = device.run.environment;
  file.command = arguments.command_line;
  file.workload = w;
  file.routing_seed = device.run.seed;
  file.baseline_kernel = "grouped_gemm with the engine's default config";
  std::cout << fmt::format("{} on {}{}; medians of {}, microseconds\n", workload_slug(w), file.device,
                           device.replayed ? " (replayed from a journal)" : "", arguments.rounds)
            << fmt::format("baseline: {}; ratio: its pair / this pair; %: floor / pair\n", file.baseline_kernel)
            << fmt::format("{:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>9} {:>7} {:>10} {:>9}  {}\n", "tokens",
                           "gemm1", "gemm2", "pair", "layer", "floor", "%", "baseline", "ratio", "check", "error",
                           "measured");
  Bench bench(*device.executor, w, arguments.rounds, device.run.seed);
  for (const int count : tokens) {
    const Chosen chosen = choose(count);
    file.rows.push_back(bench.row(count, chosen.plan));
    print_row(file.rows.back(), chosen.origin);
    // After each row, so that an end in between loses nothing.
    if (!arguments.json_file.empty()) write_file_atomically(arguments.json_file, record_text(to_json(file)));
  }
  return bench.failed() ? ExitCode::check_failed : ExitCode::ok;
}

}  // namespace moetune
