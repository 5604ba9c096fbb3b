#include "tune/candidates.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "base/error.h"

namespace moetune {
namespace {

void refuse_unsupported(const Problem& problem, const Plan& plan) {
  for (const PlanStep& step : plan.steps) {
    const std::string reason = family(step.family).unsupported(problem.workload, problem.limits);
    if (!reason.empty()) throw Error(ExitCode::usage, "kernel family '" + step.family + "' " + reason);
  }
}

Candidate candidate_of(const Problem& problem, const Config& config) {
  Candidate candidate;
  candidate.plan = portable_plan(problem.workload, problem.tokens, config);
  candidate.config = config;
  candidate.predicted_us = predicted_us(problem, candidate.plan);
  candidate.engine_takes = engine_refuses(problem, config).empty();
  return candidate;
}

// Removes what the model says cannot win, of candidates ordered by prediction; returns how many. A family without a
// model predicts 0 and is kept.
std::int64_t prune_by_prediction(std::vector<Candidate>& candidates, const TuneOptions& options) {
  double best = 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.predicted_us > 0 && (best == 0 || candidate.predicted_us < best)) best = candidate.predicted_us;
  }
  int rank = 0;
  return static_cast<std::int64_t>(std::erase_if(candidates, [&](const Candidate& candidate) {
    return !candidate.is_baseline && ++rank > options.prune_keep &&
           candidate.predicted_us > options.prune_factor * best;
  }));
}

}  // namespace

CandidateList list_candidates(const Problem& problem, const TuneOptions& options) {
  const Config baseline = engine_default_config(problem.workload, problem.tokens);
  refuse_unsupported(problem, portable_plan(problem.workload, problem.tokens, baseline));

  const Space space = load_space(family("grouped_gemm").space);
  Enumeration enumeration = enumerate(space, variables_of(problem));

  CandidateList list;
  list.dropped = std::move(enumeration.dropped);
  list.candidates.push_back(candidate_of(problem, baseline));
  list.candidates[0].is_baseline = true;
  list.candidates[0].in_space = false;
  for (const Config& config : enumeration.candidates) {
    if (config == baseline) {
      list.candidates[0].in_space = true;
    } else {
      list.candidates.push_back(candidate_of(problem, config));
    }
  }
  std::stable_sort(list.candidates.begin() + 1, list.candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.predicted_us < b.predicted_us; });
  const std::int64_t pruned = prune_by_prediction(list.candidates, options);
  list.dropped.push_back({"predicted time near the best", Outcome::resources, pruned});
  return list;
}

std::vector<KernelSource> kernels_of(const Problem& problem, const std::vector<Candidate>& candidates) {
  std::vector<KernelSource> all;
  std::unordered_set<std::string> known;
  for (const Candidate& candidate : candidates) {
    for (KernelSource& kernel : kernels_of(problem, candidate.plan)) {
      if (known.insert(kernel.key()).second) all.push_back(std::move(kernel));
    }
  }
  return all;
}

}  // namespace moetune
