// What the tuner's tests share: a workload, configs by their six values, scripted times.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "kernels/family.h"
#include "tune/fake_executor.h"
#include "tune/tuner.h"

namespace moetune {

inline Workload fp8_layer() {  // Kimi K2, tensor parallel 4
  Workload w;
  w.model = "kimi-k2";
  w.experts = 384;
  w.topk = 8;
  w.hidden = 7168;
  w.intermediate = 2048;
  w.tp = 4;
  w.dtype = Dtype::fp8_w8a8;
  w.scales = Scales::block;
  w.block_shape = BlockShape{128, 128};
  return w;
}

inline Workload bf16_layer() {  // Mixtral 8x7B, tensor parallel 2
  Workload w;
  w.model = "mixtral-8x7b";
  w.experts = 8;
  w.topk = 2;
  w.hidden = 4096;
  w.intermediate = 14336;
  w.tp = 2;
  w.dtype = Dtype::bf16;
  return w;
}

inline Config config_of(int m, int n, int k, int group, int warps, int stages) {
  return {{{"BLOCK_SIZE_M", m},
           {"BLOCK_SIZE_N", n},
           {"BLOCK_SIZE_K", k},
           {"GROUP_SIZE_M", group},
           {"num_warps", warps},
           {"num_stages", stages}}};
}

inline constexpr int space_points = 6 * 4 * 3 * 4 * 2 * 4;

inline int count_of(const TokenResult& result, Outcome outcome) {
  const auto found = result.outcomes.find(outcome);
  return found == result.outcomes.end() ? 0 : found->second;
}

inline int count_all(const TokenResult& result) {
  int sum = 0;
  for (const auto& [outcome, count] : result.outcomes) sum += count;
  return sum;
}

inline bool holds(const std::vector<Plan>& plans, const Config& config) {
  return std::any_of(plans.begin(), plans.end(), [&](const Plan& plan) { return gemm_config(plan) == config; });
}

// One token count (or a few) of a workload against scripted times: those of `us` by config's key, `baseline_us` for
// the engine's default, `other_us` for the rest; the same for every quantity and round.
struct Scripted {
  Workload workload = fp8_layer();
  TuneOptions options;
  TuneHooks hooks;
  FakeExecutor executor;
  std::map<std::string, double> us;
  double baseline_us = 100, other_us = 120;

  Scripted() {
    options.tokens = {4096};  // several M blocks an expert: every GROUP_SIZE_M is a candidate
    options.prune_factor = 100;
    options.early_stop = 3;
    executor.time_us = [this](int tokens, const Config& config, Quantity, int) { return time_of(tokens, config); };
  }
  Scripted(const Scripted&) = delete;

  double time_of(int tokens, const Config& config) const {
    const auto found = us.find(key_of(config));
    if (found != us.end()) return found->second;
    return config == engine_default_config(workload, tokens) ? baseline_us : other_us;
  }
  void set(const Config& config, double value) { us[key_of(config)] = value; }
  Config baseline() const { return engine_default_config(workload, options.tokens.at(0)); }

  TuneResult run() { return tune(workload, options, executor, hooks); }
  TokenResult run_one() { return run().tokens.at(0); }
};

}  // namespace moetune
