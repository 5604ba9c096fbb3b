// Comparing results with references, making inputs, and the bare read chain.
#include "ptx/types.cuh"
#include "ptx/warp.cuh"

namespace moetune {

struct CompareArgs {
  const u16* out;          // T [rows, columns]
  const float* reference;  // [rows, columns]
  const i32* topk_ids;     // [rows]: rows with -1 are skipped; null: none
  float* row_error;        // [rows]: sum of squared differences, NaN when an output is not finite
  float* row_norm;         // [rows]: sum of squared references
  float* row_largest;      // [rows]: largest absolute difference
  i32* mismatches;         // [rows]: elements not equal to the reference
  i32 columns;
};

// One CTA a row; every element is compared.
template <class T>
__global__ void __launch_bounds__(256) compare_rows(const CompareArgs args) {
  __shared__ float errors[8], norms[8], largest[8];
  __shared__ i32 counts[8];
  const i64 row = blockIdx.x;
  float error = 0.0f, norm = 0.0f, most = 0.0f;
  i32 count = 0;
  if (args.topk_ids == nullptr || args.topk_ids[row] >= 0) {
    for (int i = threadIdx.x; i < args.columns; i += 256) {
      const float value = float16_value<T>(args.out[row * args.columns + i]);
      const float expected = args.reference[row * args.columns + i];
      const float difference = value - expected;
      error += difference * difference;  // NaN and infinity stay
      norm += expected * expected;
      most = fmaxf(most, fabsf(difference));
      count += !(value == expected);
    }
  }
  error = warp_sum(error);
  norm = warp_sum(norm);
  most = warp_max(most);
  const float total = warp_sum(static_cast<float>(count));
  if ((threadIdx.x & 31) == 0) {
    errors[threadIdx.x / 32] = error;
    norms[threadIdx.x / 32] = norm;
    largest[threadIdx.x / 32] = most;
    counts[threadIdx.x / 32] = static_cast<i32>(total);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < 8; ++i) {
    errors[0] += errors[i];
    norms[0] += norms[i];
    largest[0] = fmaxf(largest[0], largest[i]);
    counts[0] += counts[i];
  }
  args.row_error[row] = errors[0];
  args.row_norm[row] = norms[0];
  args.row_largest[row] = largest[0];
  args.mismatches[row] = counts[0];
}

__device__ __forceinline__ u64 mix(u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// kind 0: normal with deviation `scale` (sum of four uniforms); 1: integers -4..4; 2: powers of two 1/2, 1, 2;
// 3: uniform in [scale/2, 3*scale/2].
__device__ __forceinline__ float draw(u64 bits, int kind, float scale) {
  if (kind == 1) return static_cast<float>(static_cast<int>((bits >> 32) % 9) - 4);
  if (kind == 2) return ldexpf(1.0f, static_cast<int>((bits >> 32) % 3) - 1);
  if (kind == 3) return scale * (0.5f + static_cast<float>(bits >> 40) * 0x1p-24f);
  const float sum = static_cast<float>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
  return (sum * (1.0f / 65536.0f) - 2.0f) * 1.7320508f * scale;  // variance of the sum: 4/12
}

struct FillArgs {
  void* out;
  u64 count;
  u64 seed;
  i32 kind;
  float scale;
};

__global__ void __launch_bounds__(256) fill_float(const FillArgs args) {
  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < args.count; i += gridDim.x * 256ull) {
    static_cast<float*>(args.out)[i] = draw(mix(args.seed + i), args.kind, args.scale);
  }
}

template <class T>
__global__ void __launch_bounds__(256) fill_values(const FillArgs args) {
  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < args.count; i += gridDim.x * 256ull) {
    const float value = draw(mix(args.seed + i), args.kind, args.scale);
    if constexpr (T::bytes == 1) {
      static_cast<u8*>(args.out)[i] = float_to_e4m3(value);
    } else {
      static_cast<u16*>(args.out)[i] = static_cast<u16>(pack16<T>(value, 0.0f) & 0xffffu);
    }
  }
}

struct ReadChainArgs {
  const u8* weights;     // [experts, bytes_per_expert]
  const i32* experts;    // ids of the experts to read
  u32* sink;             // never written with real data; keeps the loads alive
  u64 bytes_per_expert;  // a multiple of 16
  i32 active;
};

// Streams whole experts with 16-byte loads, 8 in flight a thread.
__global__ void __launch_bounds__(512) read_chain(const ReadChainArgs args) {
  const u64 pieces = args.bytes_per_expert / 16;
  const u64 stride = gridDim.x * 512ull;
  const u64 total = pieces * args.active;
  u32 seen = 0;
  for (u64 first = blockIdx.x * 512ull + threadIdx.x; first < total; first += stride * 8) {
    uint4 piece[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const u64 i = first + j * stride;
      if (i < total) {
        const u64 expert = args.experts[i / pieces];
        piece[j] = __ldcs(reinterpret_cast<const uint4*>(args.weights + expert * args.bytes_per_expert) + i % pieces);
      } else {
        piece[j] = make_uint4(0, 0, 0, 0);
      }
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) seen ^= piece[j].x ^ piece[j].y ^ piece[j].z ^ piece[j].w;
  }
  if (seen == 0x9e3779b9u) *args.sink = seen;
}

}  // namespace moetune
