// The executor of a journal: alone it is the replay device; around a live executor it records, and resumes a run.
//
// Events, one a journal line (docs/formats.md):
//   {"compile":  {"kernel": key, "outcome": .., "registers": .., "spill_bytes": .., "log": ..}}
//   {"open":     {"tokens": .., "outcome": .., "calls": .., "weight_sets": .., "active_experts": .., "slots": ..,
//                 "l2_ratio": .., "load_histogram": [..], "log": ..}}
//   {"validate": {"tokens": .., "plan": key, "outcome": .., "rel_err": .., "worst_token_err": ..,
//                 "exact_mismatches": .., "log": ..}}
//   {"measure":  {"tokens": .., "quantity": .., "stage": .., "plans": [keys], "outcome": .., "samples_us": [[..], ..],
//                 "log": ..}}
// "log" stands only where something is to be said. The key of the floor is "floor".
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "results/journal.h"
#include "results/journal_header.h"
#include "tune/executor.h"

namespace moetune {

// Limits and environment of the executor, digests of the families built into this binary: what make_journal_header and
// header_differences take.
RunIdentity run_identity(Executor& executor, const Workload& workload, const RoutingSpec& routing, std::uint64_t seed,
                         const std::string& command_line);

class RecordedExecutor : public Executor {
 public:
  // Replay. Samples are served per (tokens, quantity, plan) in recorded order, whatever the requests were, then from
  // the start again. What the journal lacks has the outcome unrecorded; so has a measurement of several plans when one
  // of them is lacking, and it uses up no samples of the others. Error(usage) for a malformed event.
  explicit RecordedExecutor(Journal recorded);

  // Recording. A request that `recorded` (the journal as it was before this run; without events for a new one) holds is
  // answered from it, each event once; every other is asked of `inner` and appended. A recorded answer starts nothing
  // on the GPU: the token count is opened, and kernels are compiled, when the first request needs it.
  RecordedExecutor(Journal recorded, std::unique_ptr<Executor> inner, std::unique_ptr<JournalWriter> writer);

  GpuLimits limits() override;
  Json environment() override;
  void prefetch(const std::vector<KernelSource>& kernels) override;
  CompileAnswer compile(const KernelSource& kernel) override;
  ProblemAnswer open(int tokens) override;
  ValidateAnswer validate(const Plan& plan) override;
  MeasureAnswer measure(const MeasureRequest& request) override;
  double gpu_seconds() const override { return inner_ ? inner_->gpu_seconds() : 0; }
  double compile_seconds() const override { return inner_ ? inner_->compile_seconds() : 0; }

  struct Counts {  // of open, validate and measure requests
    int recorded = 0;
    int live = 0;
    int unrecorded = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Samples {  // of one plan and quantity at one token count
    std::vector<double> us;
    std::size_t next = 0;
    MeasureAnswer failure;  // of a request for this plan alone; outcome unrecorded when there was none
  };
  template <typename Answer>
  struct Series {  // answers to equal requests
    std::vector<Answer> answers;
    std::size_t next = 0;
  };

  void index(const Json& event);
  void index_measure(const Json& measure);
  template <typename Answer>
  const Answer* take(std::unordered_map<std::string, Series<Answer>>& all, const std::string& key);
  MeasureAnswer replay(const MeasureRequest& request);
  static std::vector<double> serve(Samples& samples, const MeasureRequest& request);
  Outcome ready(const std::vector<Plan>& plans, std::string& log);

  Json header_;
  std::unique_ptr<Executor> inner_;
  std::unique_ptr<JournalWriter> writer_;
  std::unordered_map<std::string, CompileAnswer> compiles_;
  std::map<int, ProblemAnswer> opens_;
  std::unordered_map<std::string, Series<ValidateAnswer>> validations_;
  std::unordered_map<std::string, Series<MeasureAnswer>> requests_;
  std::unordered_map<std::string, Samples> samples_;  // replay only
  std::unordered_set<std::string> uncompiled_;        // kernels answered from the journal and not compiled in this run
  std::vector<KernelSource> held_;                    // prefetches of such kernels
  int tokens_ = 0;
  int inner_tokens_ = 0;
  Counts counts_;
};

}  // namespace moetune
