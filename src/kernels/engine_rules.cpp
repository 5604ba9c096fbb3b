// What vLLM's fused MoE kernel does without a file, and what it takes from one (rules of 2026-02 and 2026-06; see
// docs/formats.md).
#include <fmt/format.h>

#include <algorithm>

#include "kernels/family.h"

namespace moetune {

namespace {

Config config_of(int m, int n, int k, int group, int warps, int stages) {
  return {{{"BLOCK_SIZE_M", m},
           {"BLOCK_SIZE_N", n},
           {"BLOCK_SIZE_K", k},
           {"GROUP_SIZE_M", group},
           {"num_warps", warps},
           {"num_stages", stages}}};
}

}  // namespace

Config engine_default_config(const Workload& w, int tokens) {
  if (w.scales == Scales::block) {
    const bool narrow = tokens <= 8 && w.block_shape->n % 64 == 0;
    return config_of(tokens <= 64 ? 16 : 64, narrow ? 64 : w.block_shape->n, w.block_shape->k, tokens <= 16 ? 1 : 32, 4,
                     tokens <= 4 && narrow ? 4 : 3);
  }
  const int m = tokens <= 32 ? 16 : tokens <= 96 ? 32 : tokens <= 512 ? 64 : 128;
  const bool fp8 = w.dtype == Dtype::fp8_w8a8;
  return config_of(m, tokens <= 64 ? 64 : 128, fp8 || tokens <= 64 ? 128 : 64,
                   tokens / w.local_experts() > 128 ? 16 : 1, tokens <= 128 ? 4 : 8, tokens <= 32 ? 4 : 3);
}

std::string engine_refuses(const Problem& problem, const Config& config) {
  const Workload& w = problem.workload;
  const auto bm = config.at("BLOCK_SIZE_M"), bn = config.at("BLOCK_SIZE_N"), bk = config.at("BLOCK_SIZE_K");
  if (bm < 16 && (w.dtype != Dtype::fp8_w8a8 || problem.limits.compute_capability != 90 || bn < 64)) {
    return fmt::format(
        "BLOCK_SIZE_M {} needs fp8_w8a8, compute capability 9.0 and BLOCK_SIZE_N of at least 64 (the engine's swap-AB "
        "form)",
        bm);
  }
  if (w.block_shape && bk > std::min(w.block_shape->n, w.block_shape->k)) {
    return fmt::format("BLOCK_SIZE_K {} is cut to {} at launch", bk, std::min(w.block_shape->n, w.block_shape->k));
  }
  const auto need = (bm * bk + bk * bn) * w.element_bytes() * config.at("num_stages");
  if (need > problem.limits.shared_memory_per_block_optin) {
    return fmt::format("needs {} bytes of shared memory; {} has {}", need, problem.limits.name,
                       problem.limits.shared_memory_per_block_optin);
  }
  return {};
}

}  // namespace moetune
