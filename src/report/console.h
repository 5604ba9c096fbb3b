// What tuning prints: a table row per token count and the progress in between.
#pragma once

#include <chrono>
#include <functional>
#include <ostream>
#include <string>

#include "tune/tuner.h"
#include "workload/workload.h"

namespace moetune {

inline constexpr const char* engine_values_note =
    "Values of the engine file were measured on moetune's own kernels (mma.sync), not on the engine's Triton kernel.";

// "16x64x128 g1 w4 s4": BLOCK_SIZE_M x N x K, GROUP_SIZE_M, num_warps, num_stages; "NAME=VALUE ..." for other spaces.
std::string short_form(const Config& config);

// "812 ok, 3 wrong, 421 resources": ok first, outcomes without a trial left out.
std::string outcome_counts(const std::map<Outcome, int>& outcomes);

// Bytes of the active experts' weights and the floating-point operations of both GEMMs, mean of a call.
double active_weight_bytes(const Workload& workload, const ProblemAnswer& problem);
double gemm_flops(const Workload& workload, const ProblemAnswer& problem);

// Column heads and what they mean.
void print_token_header(std::ostream& out);

// One line, or two when the engine file's and the native winner differ. The speed-up is the paired final's over the
// baseline (engine: sort + both GEMMs, native: the whole layer): "1.31x", with "~" when other finalists are tied with
// the winner, "=" when the baseline itself is written, "-" when there was no baseline to compare with.
void print_token_row(std::ostream& out, const Workload& workload, const TokenResult& result);

// Terminal: one line, rewritten. Pipe: a line at most every 10 s.
class ProgressPrinter {
 public:
  using Clock = std::function<std::chrono::milliseconds()>;  // any epoch

  ProgressPrinter(std::ostream& out, bool terminal);
  ProgressPrinter(std::ostream& out, bool terminal, Clock clock);

  void print(const TuneProgress& progress);
  void clear();  // takes the line off the terminal; before anything else is printed

 private:
  std::ostream& out_;
  bool terminal_;
  Clock clock_;
  std::chrono::milliseconds started_, printed_;
  bool any_printed_ = false;
  std::size_t line_width_ = 0;
};

// Part of the whole run that is done, 0 to 1; screening is most of a token count's work.
double fraction_done(const TuneProgress& progress);

// "2:05", "1:02:05".
std::string clock_text(std::chrono::seconds duration);

}  // namespace moetune
