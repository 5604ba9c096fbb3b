// An executor that answers from a test's own rules; it keeps what it was asked.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tune/executor.h"

namespace moetune {

// A GPU like an H200, written down here so that tests need no other layer.
inline GpuLimits fake_limits() {
  GpuLimits limits;
  limits.name = "Fake GPU";
  limits.compute_capability = 90;
  limits.arch = "sm_90a";
  limits.sm_count = 132;
  limits.shared_memory_per_block_optin = 232448;
  limits.shared_memory_per_sm = 233472;
  limits.registers_per_sm = 65536;
  limits.max_threads_per_sm = 2048;
  limits.l2_bytes = 60 << 20;
  limits.memory_bytes = std::int64_t{140} << 30;
  limits.memory_bandwidth = 4.8e12;
  return limits;
}

// The config of a plan's GEMMs.
inline Config gemm_config(const Plan& plan) {
  for (const PlanStep& step : plan.steps) {
    if (step.family == "grouped_gemm") return step.config;
  }
  return {};
}

class FakeExecutor : public Executor {
 public:
  // Rules; each may be replaced by a test. `round` counts from 0 in each measure call.
  std::function<double(int tokens, const Config&, Quantity, int round)> time_us = [](int, const Config&, Quantity,
                                                                                     int) { return 100.0; };
  std::function<ValidateAnswer(const Config&)> validation = [](const Config&) { return valid(0.001); };
  std::function<CompileAnswer(const KernelSource&)> compilation = [](const KernelSource&) { return compiled(64, 0); };
  std::function<Outcome(const MeasureRequest&)> measuring = [](const MeasureRequest&) { return Outcome::ok; };
  std::function<Outcome(int tokens)> opening = [](int) { return Outcome::ok; };

  // What was asked, in order.
  std::vector<KernelSource> prefetched;
  std::vector<Config> validated;
  std::vector<std::pair<int, MeasureRequest>> measured;  // with the token count
  std::vector<int> opened;
  std::vector<std::string> compiled_kernels;

  static ValidateAnswer valid(double error, Outcome outcome = Outcome::ok) {
    ValidateAnswer answer;
    answer.outcome = outcome;
    answer.rel_err = error;
    return answer;
  }

  static CompileAnswer compiled(int registers, int spill_bytes, Outcome outcome = Outcome::ok) {
    CompileAnswer answer;
    answer.outcome = outcome;
    answer.registers = registers;
    answer.spill_bytes = spill_bytes;
    if (outcome != Outcome::ok) answer.log = "the log's first line\nand its second";
    return answer;
  }

  GpuLimits limits() override { return fake_limits(); }
  Json environment() override { return Json::object(); }
  void prefetch(const std::vector<KernelSource>& kernels) override {
    prefetched.insert(prefetched.end(), kernels.begin(), kernels.end());
  }
  CompileAnswer compile(const KernelSource& kernel) override {
    compiled_kernels.push_back(kernel.key());
    return compilation(kernel);
  }

  ProblemAnswer open(int tokens) override {
    opened.push_back(tokens);
    ProblemAnswer answer;
    answer.outcome = opening(tokens);
    if (answer.outcome != Outcome::ok) answer.log = "needs 321 GB";
    answer.active_experts = 8;
    answer.slots = 8.0 * tokens;
    return answer;
  }

  ValidateAnswer validate(const Plan& plan) override {
    validated.push_back(gemm_config(plan));
    return validation(validated.back());
  }

  MeasureAnswer measure(const MeasureRequest& request) override {
    measured.emplace_back(opened.back(), request);
    MeasureAnswer answer;
    answer.outcome = measuring(request);
    if (answer.outcome != Outcome::ok) return answer;
    if (request.quantity == Quantity::floor) {
      answer.samples_us = {std::vector<double>(static_cast<std::size_t>(request.rounds), 10.0)};
    }
    for (const Plan& plan : request.plans) {
      std::vector<double>& samples = answer.samples_us.emplace_back();
      for (int round = 0; round < request.rounds; ++round) {
        samples.push_back(time_us(opened.back(), gemm_config(plan), request.quantity, round));
        if (request.stop_above_us > 0 && request.plans.size() == 1 && samples.back() > request.stop_above_us) break;
      }
    }
    return answer;
  }

  // Requests of a stage and quantity, in order.
  std::vector<MeasureRequest> requests(const std::string& stage, Quantity quantity) const {
    std::vector<MeasureRequest> found;
    for (const auto& [tokens, request] : measured) {
      if (request.stage == stage && request.quantity == quantity) found.push_back(request);
    }
    return found;
  }
};

}  // namespace moetune
