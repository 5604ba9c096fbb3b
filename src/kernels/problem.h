// A problem: a workload at one token count on one GPU, as kernels and spaces see it.
#pragma once

#include "gpu/limits.h"
#include "space/expression.h"
#include "workload/workload.h"

namespace moetune {

struct Problem {
  Workload workload;
  int tokens = 1;
  GpuLimits limits;
};

// The names that constraints may use (docs/spaces.md): tokens, topk, experts, local_experts, hidden, shard,
// element_bytes, block_n, block_k (0 without block scales), is_fp8, is_block, slots (tokens * topk), naive_sort (0/1),
// compute_capability, sm_count, shared_memory_per_block_optin, ...
Variables variables_of(const Problem& problem);

// The engine skips the sort when no experts live elsewhere and tokens * topk * 4 <= experts: each (token, expert) pair
// is then its own block.
bool naive_sort(const Workload& w, int tokens);

}  // namespace moetune
