#include "tune/stages.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/random.h"

namespace moetune {
namespace {

constexpr int registers_per_block = 65536;  // on every GPU from compute capability 8.0 to 12.0

// ok, or why a compiled kernel is not worth launching.
Outcome judge_kernel(const CompileAnswer& answer, const Config& config, int most_spill_bytes) {
  const std::int64_t threads = config.has("num_warps") ? config.at("num_warps") * 32 : 0;
  if (threads * answer.registers > registers_per_block) return Outcome::resources;
  return answer.spill_bytes > most_spill_bytes ? Outcome::resources : Outcome::ok;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Outcome compile_plan(StageContext& context, const Candidate& candidate) {
  // A slow baseline is still what everything is compared with.
  const int most_spill_bytes = candidate.is_baseline ? std::numeric_limits<int>::max() : context.options.spill_bytes;
  for (const PlanStep& step : candidate.plan.steps) {
    const Family& f = family(step.family);
    for (const KernelSource& kernel : f.kernels(context.problem, step.steps.front(), step.config)) {
      const CompileAnswer answer = context.executor.compile(kernel);
      const bool tunable = !f.space.empty();
      if (answer.outcome == Outcome::ok) {
        const Outcome judged = tunable ? judge_kernel(answer, step.config, most_spill_bytes) : Outcome::ok;
        if (judged != Outcome::ok) return judged;
      } else if (tunable || answer.outcome == Outcome::unrecorded) {
        return answer.outcome;
      } else {
        throw Error(ExitCode::internal, "kernel " + kernel.key() + ", which every plan needs, did not compile (" +
                                            name_of(answer.outcome) + "): " + first_line(answer.log));
      }
    }
  }
  return Outcome::ok;
}

const std::vector<double>& samples_of(const MeasureAnswer& answer, std::size_t index) {
  if (index >= answer.samples_us.size() || answer.samples_us[index].empty()) {
    throw Error(ExitCode::internal, "a measurement answered ok without samples");
  }
  return answer.samples_us[index];
}

// `best_us`: the fastest median so far, 0 when there is none.
void screen_one(StageContext& context, Candidate& candidate, double best_us) {
  candidate.outcome = compile_plan(context, candidate);
  if (candidate.outcome != Outcome::ok) return;
  candidate.validation = context.executor.validate(candidate.plan);
  candidate.outcome = candidate.validation.outcome;
  if (candidate.outcome != Outcome::ok) return;

  MeasureRequest request;
  request.quantity = Quantity::rank;
  request.plans = {candidate.plan};
  request.rounds = context.options.screen_rounds;
  request.stop_above_us = context.options.early_stop * best_us;
  request.seed = context.seed("screen");
  request.stage = "screen";
  const MeasureAnswer answer = context.executor.measure(request);
  candidate.outcome = answer.outcome;
  if (candidate.outcome != Outcome::ok) return;
  const std::vector<double>& samples = samples_of(answer, 0);
  candidate.screen_us = median(samples);
  candidate.stopped = request.stop_above_us > 0 &&
                      (static_cast<int>(samples.size()) < request.rounds || samples.front() > request.stop_above_us);
}

// Indices of ok candidates for which `eligible` holds, by `time`, ties in the order they were tried.
template <typename Eligible>
std::vector<std::size_t> ranked(const std::vector<Candidate>& candidates, double Candidate::*time, Eligible eligible) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].outcome == Outcome::ok && eligible(candidates[i])) indices.push_back(i);
  }
  std::stable_sort(indices.begin(), indices.end(),
                   [&](std::size_t a, std::size_t b) { return candidates[a].*time < candidates[b].*time; });
  return indices;
}

void add_baseline(const std::vector<Candidate>& candidates, std::vector<std::size_t>& indices) {
  if (!candidates.empty() && candidates[0].is_baseline && candidates[0].outcome == Outcome::ok) indices.push_back(0);
}

// The best of the screen, and enough of those the engine takes to fill its final: configs only we can run must not
// crowd them out.
std::vector<std::size_t> race_entrants(const std::vector<Candidate>& candidates, const TuneOptions& options) {
  std::vector<std::size_t> entrants;
  int for_engine = 0;
  const auto raceable = [](const Candidate& candidate) { return !candidate.is_baseline && !candidate.stopped; };
  for (const std::size_t index : ranked(candidates, &Candidate::screen_us, raceable)) {
    const bool among_best = static_cast<int>(entrants.size()) < options.race_plans;
    const bool engine_needs = candidates[index].engine_takes && for_engine < options.final_plans;
    if (!among_best && !engine_needs) continue;
    entrants.push_back(index);
    if (candidates[index].engine_takes) ++for_engine;
  }
  add_baseline(candidates, entrants);
  return entrants;
}

}  // namespace

void StageContext::stop_if_interrupted() const {
  if (hooks.interrupted && hooks.interrupted()) throw Interrupted{};
}

void StageContext::begin_stage(const std::string& stage, int total) {
  progress.stage = stage;
  progress.done = 0;
  progress.total = total;
  if (hooks.progress) hooks.progress(progress);
}

void StageContext::step() {
  ++progress.done;
  if (hooks.progress) hooks.progress(progress);
}

std::uint64_t StageContext::seed(std::string_view purpose) const {
  std::uint64_t mixed = Random(options.seed).next() ^ static_cast<std::uint64_t>(problem.tokens);
  for (const char c : purpose) mixed = Random(mixed ^ static_cast<unsigned char>(c)).next();
  return mixed;
}

void screen(StageContext& context, std::vector<Candidate>& candidates) {
  context.begin_stage("screen", static_cast<int>(candidates.size()));
  double best_us = 0;
  for (Candidate& candidate : candidates) {
    context.stop_if_interrupted();
    screen_one(context, candidate, best_us);
    if (candidate.outcome == Outcome::ok && (best_us == 0 || candidate.screen_us < best_us)) {
      best_us = candidate.screen_us;
    }
    context.progress.best_us = best_us;
    context.step();
  }
}

std::vector<Timed> measure_together(StageContext& context, std::vector<Candidate>& candidates,
                                    const std::vector<std::size_t>& indices, MeasureRequest request) {
  std::vector<Timed> timed;
  if (indices.empty()) return timed;
  for (const std::size_t index : indices) request.plans.push_back(candidates[index].plan);
  context.stop_if_interrupted();
  const MeasureAnswer together = context.executor.measure(request);
  if (together.outcome == Outcome::ok) {
    for (std::size_t i = 0; i < indices.size(); ++i) timed.push_back({indices[i], samples_of(together, i)});
    return timed;
  }
  for (const std::size_t index : indices) {
    context.stop_if_interrupted();
    request.plans = {candidates[index].plan};
    const MeasureAnswer alone = context.executor.measure(request);
    if (alone.outcome == Outcome::ok) {
      timed.push_back({index, samples_of(alone, 0)});
    } else {
      candidates[index].outcome = alone.outcome;
    }
  }
  return timed;
}

void race(StageContext& context, std::vector<Candidate>& candidates) {
  context.begin_stage("race", 1);
  MeasureRequest request;
  request.quantity = Quantity::rank;
  request.rounds = context.options.race_rounds;
  request.seed = context.seed("race");
  request.stage = "race";
  const std::vector<std::size_t> entrants = race_entrants(candidates, context.options);
  for (const Timed& timed : measure_together(context, candidates, entrants, request)) {
    candidates[timed.candidate].race_us = median(timed.samples_us);
  }
  context.step();
}

std::vector<Timed> run_final(StageContext& context, std::vector<Candidate>& candidates, Quantity quantity) {
  const bool for_engine = quantity == Quantity::rank;
  const auto raced = [&](const Candidate& candidate) {
    return !candidate.is_baseline && candidate.race_us > 0 && (!for_engine || candidate.engine_takes);
  };
  std::vector<std::size_t> finalists = ranked(candidates, &Candidate::race_us, raced);
  if (static_cast<int>(finalists.size()) > context.options.final_plans) {
    finalists.resize(static_cast<std::size_t>(context.options.final_plans));
  }
  add_baseline(candidates, finalists);

  MeasureRequest request;
  request.quantity = quantity;
  request.rounds = context.options.final_rounds;
  request.seed = context.seed(std::string("final ") + name_of(quantity));
  request.stage = "final";
  return measure_together(context, candidates, finalists, request);
}

}  // namespace moetune
