// Step "activation": SiLU(gate) * up of each slot, requantised for fp8 workloads; one warp a group of the shard.
#include "moe/quantise.cuh"
#include "ptx/warp.cuh"

namespace moetune {

struct ActivationArgs {
  const u16* in;              // T [slots, 2*shard], gate first
  void* out;                  // [slots, shard]: e4m3 (fp8 workloads) or T
  float* scale;               // [slots, groups]; fp8 with dynamic scales
  const float* tensor_scale;  // [1]; not null: one given scale
  const i32* topk_ids;        // [slots]; a slot of another rank is skipped
  i32 slots, shard;
  i32 group;  // values a scale covers
};

template <class T>
__device__ __forceinline__ void silu_mul4(const u16* gate, const u16* up, float (&out)[4]) {
  const uint2 g = *reinterpret_cast<const uint2*>(gate);
  const uint2 u = *reinterpret_cast<const uint2*>(up);
  const u32 gs[4] = {g.x & 0xffffu, g.x >> 16, g.y & 0xffffu, g.y >> 16};
  const u32 us[4] = {u.x & 0xffffu, u.x >> 16, u.y & 0xffffu, u.y >> 16};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float x = float16_value<T>(static_cast<u16>(gs[i]));
    out[i] = x / (1.0f + expf(-x)) * float16_value<T>(static_cast<u16>(us[i]));
  }
}

template <class T, bool Fp8>
__global__ void __launch_bounds__(256) silu_mul(const ActivationArgs args) {
  const int groups = (args.shard + args.group - 1) / args.group;
  const i64 index = static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32;
  const int lane = threadIdx.x & 31;
  if (index >= static_cast<i64>(args.slots) * groups) return;
  const i64 slot = index / groups;
  if (args.topk_ids[slot] < 0) return;
  const int first = static_cast<int>(index % groups) * args.group;
  const int count = min(args.group, args.shard - first);
  const u16* gate = args.in + slot * 2 * args.shard + first;
  const u16* up = gate + args.shard;
  float values[4];

  float scale = 1.0f;
  if constexpr (Fp8) {
    if (args.tensor_scale != nullptr) {
      scale = *args.tensor_scale;
    } else {
      float largest = 0.0f;
      for (int i = lane * 4; i < count; i += 128) {
        silu_mul4<T>(gate + i, up + i, values);
#pragma unroll
        for (int j = 0; j < 4; ++j) largest = fmaxf(largest, fabsf(values[j]));
      }
      scale = e4m3_scale(warp_max(largest));
      if (lane == 0) args.scale[index] = scale;
    }
  }
  for (int i = lane * 4; i < count; i += 128) {
    silu_mul4<T>(gate + i, up + i, values);
    const i64 at = slot * args.shard + first + i;
    if constexpr (Fp8) {
      u32 packed = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) packed |= static_cast<u32>(quantise_e4m3(values[j], scale)) << (8 * j);
      *reinterpret_cast<u32*>(static_cast<u8*>(args.out) + at) = packed;
    } else {
      *reinterpret_cast<uint2*>(static_cast<u16*>(args.out) + at) =
          make_uint2(pack16<T>(values[0], values[1]), pack16<T>(values[2], values[3]));
    }
  }
}

}  // namespace moetune
