// The stages of one token count: screen all, race the best, time the finalists. Private to this layer.
//
// Every decision follows from the executor's answers and the seed alone: a replay of the same answers makes the same
// choices.
#pragma once

#include <string_view>
#include <vector>

#include "tune/candidates.h"

namespace moetune {

// Thrown between trials when the user asked to stop; tune() catches it.
struct Interrupted {};

struct StageContext {
  const Problem& problem;
  const TuneOptions& options;
  Executor& executor;
  const TuneHooks& hooks;
  TuneProgress progress;

  void stop_if_interrupted() const;
  void begin_stage(const std::string& stage, int total);
  void step();  // one trial done
  // The same for every run with this seed and token count, whatever was measured before.
  std::uint64_t seed(std::string_view purpose) const;
};

struct Timed {
  std::size_t candidate = 0;  // index
  std::vector<double> samples_us;
};

// Compiles, validates and times every candidate in order; leaves its outcome, and for ok ones screen_us and stopped.
// Error(internal) when a kernel without tunables does not compile: then no candidate can run.
void screen(StageContext& context, std::vector<Candidate>& candidates);

// Times the best of the screen interleaved; leaves race_us.
void race(StageContext& context, std::vector<Candidate>& candidates);

// Times the best of the race interleaved with the baseline: what the engine takes by Quantity::rank, any by op.
std::vector<Timed> run_final(StageContext& context, std::vector<Candidate>& candidates, Quantity quantity);

// One interleaved call; when it fails, each plan alone. Plans that fail alone get that outcome and are left out.
std::vector<Timed> measure_together(StageContext& context, std::vector<Candidate>& candidates,
                                    const std::vector<std::size_t>& indices, MeasureRequest request);

}  // namespace moetune
