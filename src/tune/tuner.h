// The driver: stages, winner rule, one token count after the other.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/plan.h"
#include "kernels/problem.h"
#include "measure/statistics.h"
#include "space/space.h"
#include "tune/executor.h"

namespace moetune {

struct TuneOptions {
  std::vector<int> tokens;
  std::uint64_t seed = 0;
  int screen_rounds = 3;
  int race_plans = 12;  // survivors of the screen that are raced, plus the baseline
  int race_rounds = 9;
  int final_plans = 4;  // survivors of the race in each paired final, plus the baseline
  int final_rounds = 25;
  int report_rounds = 11;
  double early_stop = 1.5;    // a first sample above this times the best so far ends a screen
  double prune_factor = 1.6;  // predicted above this times the best prediction, and not among the `prune_keep` best
  int prune_keep = 150;       // predicted: outcome resources
  int spill_bytes = 256;      // a kernel that spills more per thread: outcome resources (the baseline's is kept)
};

// One plan that reached a final.
struct Finalist {
  Plan plan;
  Config config;  // of the GEMM family
  Summary time_us;
  PairedRatio to_baseline;  // time / baseline's, paired; 1 when there is no baseline
  PairedRatio to_best;      // time / the fastest finalist's, paired
  bool tied = false;        // within the band of the fastest
};

struct Choice {  // the winner of one ranking
  bool found = false;
  Quantity ranked_by = Quantity::rank;
  Finalist winner;
  std::vector<Finalist> finalists;  // fastest first, the baseline among them
  bool is_baseline = false;         // nothing beat the baseline beyond the band
  ValidateAnswer validation;        // of the winner
};

struct PlanTimes {  // report quantities, medians in microseconds; 0 when not measured
  Summary gemm1, gemm2, pair, op;
};

struct TokenResult {
  int tokens = 0;
  ProblemAnswer problem;
  std::map<Outcome, int> outcomes;  // one count a candidate of the space
  std::vector<Dropped> dropped;
  Config baseline;
  bool baseline_ran = false;
  Choice engine;  // ranked by sort + both GEMMs, configs the engine takes
  Choice native;  // ranked by the whole layer, any config
  PlanTimes engine_times, native_times, baseline_times;
  Summary floor_us;
  double worst_rel_err = 0;        // over all ok candidates
  std::string largest_error_plan;  // the wrong candidate with the largest error, empty when none
  double largest_error = 0;
  double seconds = 0;
};

struct TuneProgress {
  int tokens = 0;
  int token_index = 0, token_count = 0;
  std::string stage;
  int done = 0, total = 0;
  double best_us = 0;
};

struct TuneHooks {
  std::function<void(const TuneProgress&)> progress;   // may be empty
  std::function<void(const TokenResult&)> token_done;  // writes files; after each token count
  std::function<bool()> interrupted;                   // asked between trials
};

struct TuneResult {
  std::vector<TokenResult> tokens;
  bool interrupted = false;
};

TuneResult tune(const Workload& workload, const TuneOptions& options, Executor& executor, const TuneHooks& hooks);

}  // namespace moetune
