// Prepares, checks and times plans of one workload on this process's GPU. Runs inside a device worker.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/outcome.h"
#include "kernels/reference.h"
#include "measure/answers.h"
#include "measure/layer_data.h"

namespace moetune {

class LayerBench {
 public:
  LayerBench(const Device& device, const Workload& workload, const RoutingSpec& routing, std::uint64_t seed);
  ~LayerBench();

  // Inputs, routings, enough weight sets for cold reads, and the reference of one token count.
  ProblemAnswer open(int tokens);
  // Runs the plan on poisoned buffers and compares the whole output with the reference; then both GEMMs alone on
  // integer-valued operands, bit for bit.
  ValidateAnswer validate(const Plan& plan);
  MeasureAnswer measure(const MeasureRequest& request);

 private:
  struct ExactProblem;  // a small integer-valued layer with its exact answers
  struct TimedPlan;     // graphs of a plan

  std::int64_t exact_mismatches(const Plan& plan);
  ExactProblem& exact_problem(bool naive);
  void restore_operands();
  TimedPlan prepare(const Plan& plan, Quantity quantity);
  Graph capture(Quantity quantity, const std::vector<BoundStep>& steps, const Event& start, const Event& stop);
  void run_floor_call(std::size_t call);
  LayerCall layer_call(std::size_t call) const;
  const WeightSet& weights_of(std::size_t call) const { return weight_sets_[call % weights_in_use_]; }

  const Device& device_;
  Problem problem_;
  RoutingSpec routing_;
  std::uint64_t seed_;
  KernelStore store_;
  Stream stream_;
  Buffer sink_;
  std::vector<WeightSet> weight_sets_;
  std::size_t weights_in_use_ = 1;
  std::unique_ptr<CallBuffers> buffers_;
  std::vector<Buffer> saved_operands_;  // a1, a1_scale, a2, a2_scale as the reference left them
  Buffer reference_;
  bool operands_dirty_ = false;
  std::map<bool, std::unique_ptr<ExactProblem>> exact_;
};

}  // namespace moetune
