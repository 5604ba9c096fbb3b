// Device memory of a layer: weights, inputs, scratch, and the reference's answer.
#pragma once

#include <memory>
#include <vector>

#include "gpu/driver.h"
#include "kernels/kernel_store.h"
#include "kernels/layer.h"
#include "kernels/problem.h"
#include "workload/routing.h"

namespace moetune {

// What the values are: `random` for timing and error norms; `integers` (small integers, scales that are powers of two)
// where every partial sum is exact, so that results must be equal bit for bit.
enum class Values { random, integers };

// One set of weights with its scales.
struct WeightSet {
  Buffer w1, w1_scale, w2, w2_scale, a1_tensor_scale, a2_tensor_scale;
  LayerWeights view() const;
};
std::int64_t weight_set_bytes(const Workload& w);
WeightSet make_weights(const Workload& w, Values values, std::uint64_t seed, KernelStore& store, const Stream& stream);

// Buffers of calls at one token count. Routing-dependent ones exist once a call, the rest once.
struct CallBuffers {
  struct PerCall {
    Buffer topk_ids, topk_weights, sorted_token_ids, expert_ids, num_tokens_post_padded;
    Buffer active_experts;  // int32 ids, for the read chain
    int active = 0;
  };
  std::vector<PerCall> calls;
  Buffer hidden, a1, a1_scale, gemm1_out, a2, a2_scale, gemm2_out, output;

  LayerTensors tensors(std::size_t call, const Workload& w, const WeightSet& weights) const;
};
std::int64_t call_buffers_bytes(const Workload& w, int tokens, int calls);
CallBuffers make_call_buffers(const Workload& w, int tokens, const std::vector<Routing>& routings);

// Fills everything a plan writes with NaN patterns (0xff).
void poison(CallBuffers& buffers, const Workload& w, const Stream& stream);

// Largest token count that one run of sorted slots needs room for; covers every BLOCK_SIZE_M up to 256.
std::int64_t sorted_capacity(const Workload& w, int tokens);

}  // namespace moetune
