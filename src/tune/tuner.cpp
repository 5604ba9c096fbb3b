#include "tune/tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "tune/candidates.h"
#include "tune/stages.h"
#include "tune/winner.h"

namespace moetune {
namespace {

ProblemAnswer open_problem(Executor& executor, int tokens) {
  const ProblemAnswer answer = executor.open(tokens);
  if (answer.outcome == Outcome::ok) return answer;
  const bool usage = answer.outcome == Outcome::memory || answer.outcome == Outcome::unrecorded;
  throw Error(usage ? ExitCode::usage : ExitCode::no_device, "cannot prepare " + std::to_string(tokens) + " tokens (" +
                                                                 name_of(answer.outcome) + ")" +
                                                                 (answer.log.empty() ? "" : ": " + answer.log));
}

Choice choice_of(const StageContext& context, const std::vector<Candidate>& candidates, const std::vector<Timed>& timed,
                 Quantity ranked_by, const Choice* neighbour) {
  std::vector<FinalEntry> entries;
  for (const Timed& one : timed) {
    const Candidate& candidate = candidates[one.candidate];
    // It may have failed in the other final.
    if (candidate.outcome != Outcome::ok) continue;
    entries.push_back({candidate.plan, candidate.config, candidate.validation, candidate.is_baseline, one.samples_us});
  }
  const Config* before = neighbour != nullptr && neighbour->found ? &neighbour->winner.config : nullptr;
  return choose(entries, ranked_by, before, context.seed(std::string("band ") + name_of(ranked_by)));
}

void count_outcomes(const CandidateList& list, TokenResult& result) {
  for (const Dropped& dropped : list.dropped) {
    if (dropped.count > 0) result.outcomes[dropped.outcome] += static_cast<int>(dropped.count);
  }
  for (const Candidate& candidate : list.candidates) {
    if (candidate.in_space) ++result.outcomes[candidate.outcome];
    if (candidate.outcome == Outcome::ok) {
      result.worst_rel_err = std::max(result.worst_rel_err, candidate.validation.rel_err);
    } else if (candidate.outcome == Outcome::wrong) {
      const double raw = candidate.validation.rel_err;
      const double error = std::isnan(raw) ? std::numeric_limits<double>::infinity() : raw;
      if (result.largest_error_plan.empty() || error > result.largest_error) {
        result.largest_error = error;
        result.largest_error_plan = key_of(candidate.plan);
      }
    }
  }
}

// Times of the chosen plans by part: what is printed and recorded, not what ranks.
void report_times(StageContext& context, const Candidate& baseline, TokenResult& result) {
  std::vector<Candidate> reported;
  std::vector<std::size_t> indices;
  std::vector<std::pair<std::size_t, PlanTimes*>> receivers;
  const auto add = [&](const Plan& plan, PlanTimes& times) {
    const auto same = [&](const Candidate& candidate) { return candidate.plan == plan; };
    const auto index =
        static_cast<std::size_t>(std::find_if(reported.begin(), reported.end(), same) - reported.begin());
    if (index == reported.size()) {
      reported.emplace_back().plan = plan;
      indices.push_back(index);
    }
    receivers.emplace_back(index, &times);
  };
  if (result.engine.found) add(result.engine.winner.plan, result.engine_times);
  if (result.native.found) add(result.native.winner.plan, result.native_times);
  if (result.baseline_ran) add(baseline.plan, result.baseline_times);

  const std::vector<std::pair<Quantity, Summary PlanTimes::*>> parts = {{Quantity::gemm1, &PlanTimes::gemm1},
                                                                        {Quantity::gemm2, &PlanTimes::gemm2},
                                                                        {Quantity::pair, &PlanTimes::pair},
                                                                        {Quantity::op, &PlanTimes::op}};
  context.begin_stage("report", static_cast<int>(parts.size()) + 1);
  MeasureRequest request;
  request.rounds = context.options.report_rounds;
  request.stage = "report";
  for (const auto& [quantity, member] : parts) {
    request.quantity = quantity;
    request.seed = context.seed(std::string("report ") + name_of(quantity));
    for (const Timed& timed : measure_together(context, reported, indices, request)) {
      for (const auto& [index, times] : receivers) {
        if (index == timed.candidate) times->*member = summarise(timed.samples_us);
      }
    }
    context.step();
  }

  context.stop_if_interrupted();
  request.quantity = Quantity::floor;
  request.seed = context.seed("report floor");
  const MeasureAnswer floor = context.executor.measure(request);
  if (floor.outcome == Outcome::ok && !floor.samples_us.empty()) result.floor_us = summarise(floor.samples_us[0]);
  context.step();
}

// `before`: the previous token count's result, or null.
TokenResult tune_tokens(StageContext& context, CandidateList list, const TokenResult* before) {
  const auto started = std::chrono::steady_clock::now();
  TokenResult result;
  result.tokens = context.problem.tokens;
  result.dropped = list.dropped;
  result.baseline = list.candidates[0].config;
  result.problem = open_problem(context.executor, result.tokens);

  screen(context, list.candidates);
  race(context, list.candidates);
  context.begin_stage("final", 2);
  const std::vector<Timed> engine = run_final(context, list.candidates, Quantity::rank);
  context.step();
  const std::vector<Timed> native = run_final(context, list.candidates, Quantity::op);
  context.step();

  result.engine = choice_of(context, list.candidates, engine, Quantity::rank, before ? &before->engine : nullptr);
  result.native = choice_of(context, list.candidates, native, Quantity::op, before ? &before->native : nullptr);
  result.baseline_ran = list.candidates[0].outcome == Outcome::ok;
  report_times(context, list.candidates[0], result);
  count_outcomes(list, result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return result;
}

}  // namespace

TuneResult tune(const Workload& workload, const TuneOptions& options, Executor& executor, const TuneHooks& hooks) {
  TuneResult result;
  std::vector<Problem> problems;
  std::vector<CandidateList> lists;
  const GpuLimits limits = executor.limits();
  for (const int tokens : options.tokens) {
    problems.push_back({workload, tokens, limits});
    lists.push_back(list_candidates(problems.back(), options));
  }
  // All token counts at once: later ones compile while earlier ones are measured.
  for (std::size_t i = 0; i < problems.size(); ++i) executor.prefetch(kernels_of(problems[i], lists[i].candidates));

  try {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      StageContext context{problems[i], options, executor, hooks, {}};
      context.progress.tokens = problems[i].tokens;
      context.progress.token_index = static_cast<int>(i);
      context.progress.token_count = static_cast<int>(problems.size());
      context.stop_if_interrupted();
      const TokenResult* before = result.tokens.empty() ? nullptr : &result.tokens.back();
      TokenResult done = tune_tokens(context, std::move(lists[i]), before);
      result.tokens.push_back(std::move(done));
      if (hooks.token_done) hooks.token_done(result.tokens.back());
    }
  } catch (const Interrupted&) {
    result.interrupted = true;
  }
  return result;
}

}  // namespace moetune
