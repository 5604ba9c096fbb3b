#include "kernels/problem.h"

namespace moetune {

bool naive_sort(const Workload& w, int tokens) {
  return w.ep == 1 && static_cast<std::int64_t>(tokens) * w.topk * 4 <= w.experts;
}

Variables variables_of(const Problem& problem) {
  const Workload& w = problem.workload;
  const GpuLimits& gpu = problem.limits;
  return {
      {"tokens", problem.tokens},
      {"topk", w.topk},
      {"experts", w.experts},
      {"local_experts", w.local_experts()},
      {"hidden", w.hidden},
      {"shard", w.shard()},
      {"element_bytes", w.element_bytes()},
      {"block_n", w.block_shape ? w.block_shape->n : 0},
      {"block_k", w.block_shape ? w.block_shape->k : 0},
      {"is_fp8", w.dtype == Dtype::fp8_w8a8},
      {"is_block", w.scales == Scales::block},
      {"slots", static_cast<std::int64_t>(problem.tokens) * w.topk},
      {"naive_sort", naive_sort(w, problem.tokens)},
      {"compute_capability", gpu.compute_capability},
      {"sm_count", gpu.sm_count},
      {"shared_memory_per_block_optin", gpu.shared_memory_per_block_optin},
      {"shared_memory_per_sm", gpu.shared_memory_per_sm},
      {"registers_per_sm", gpu.registers_per_sm},
  };
}

}  // namespace moetune
