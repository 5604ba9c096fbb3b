// Device tensors of a MoE layer, shared by every family: formats, shapes, layouts.
#pragma once

#include "gpu/driver.h"
#include "workload/workload.h"

namespace moetune {

// T = the model's 16-bit type, Q = e4m3 for fp8 workloads and T otherwise. All row-major.
struct LayerWeights {
  CUdeviceptr w1 = 0;        // Q [local experts, 2*shard, hidden], gate rows first
  CUdeviceptr w1_scale = 0;  // fp32; block: [E, ceil(2*shard/bn), ceil(hidden/bk)]; channel: [E, 2*shard]; tensor: [E]
  CUdeviceptr w2 = 0;        // Q [local experts, hidden, shard]
  CUdeviceptr w2_scale = 0;  // fp32; block: [E, ceil(hidden/bn), ceil(shard/bk)]; channel: [E, hidden]; tensor: [E]
  CUdeviceptr a1_tensor_scale = 0;  // fp32 [1], tensor scales only
  CUdeviceptr a2_tensor_scale = 0;  // fp32 [1], tensor scales only
};

// Activations and scratch of one call.
struct LayerTensors {
  CUdeviceptr topk_ids = 0;                // int32 [tokens, topk], local ids, -1 = another rank's
  CUdeviceptr topk_weights = 0;            // fp32 [tokens, topk]
  CUdeviceptr hidden = 0;                  // T [tokens, hidden]
  CUdeviceptr a1 = 0;                      // Q [tokens, hidden]; fp8 only, else the same as `hidden`
  CUdeviceptr a1_scale = 0;                // fp32; block: [tokens, ceil(hidden/bk)]; channel: [tokens]; tensor: [1]
  CUdeviceptr sorted_token_ids = 0;        // int32 [sorted_capacity]; padding value = tokens*topk
  CUdeviceptr expert_ids = 0;              // int32 [sorted_capacity / smallest BLOCK_SIZE_M]
  CUdeviceptr num_tokens_post_padded = 0;  // int32 [1]
  CUdeviceptr gemm1_out = 0;               // T [tokens*topk, 2*shard]
  CUdeviceptr a2 = 0;                      // Q [tokens*topk, shard]
  CUdeviceptr a2_scale = 0;   // fp32; block: [tokens*topk, ceil(shard/bk)]; channel: [tokens*topk]; tensor: [1]
  CUdeviceptr gemm2_out = 0;  // T [tokens*topk, hidden], router weight applied
  CUdeviceptr output = 0;     // T [tokens, hidden]
};

struct LayerCall {
  LayerWeights weights;
  LayerTensors tensors;
};

}  // namespace moetune
