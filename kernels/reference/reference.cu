// Obviously right references, one output an owner, plain fp32; they share no arithmetic with the tuned kernels. Checked
// against fp64 on the CPU by tests/gpu_tests.
#include "ptx/types.cuh"

namespace moetune {

template <class T>
__device__ float element(const void* data, i64 index);
template <>
__device__ float element<Bf16>(const void* data, i64 index) {
  return bf16_to_float(static_cast<const u16*>(data)[index]);
}
template <>
__device__ float element<Fp16>(const void* data, i64 index) {
  return fp16_to_float(static_cast<const u16*>(data)[index]);
}
template <>
__device__ float element<E4m3>(const void* data, i64 index) {
  const u32 code = static_cast<const u8*>(data)[index];
  const int exponent = static_cast<int>(code >> 3 & 15);
  const float mantissa = static_cast<float>(code & 7) / 8.0f;
  const float magnitude = exponent == 0 ? ldexpf(mantissa, -6) : ldexpf(1.0f + mantissa, exponent - 7);
  return (code & 0x7fu) == 0x7fu ? nanf("") : (code & 0x80u ? -magnitude : magnitude);
}

// element<T>, through a table of all codes where T has few: decoding would be most of the reference's time.
template <class T>
struct Elements {
  __device__ void prepare() {}
  __device__ float operator()(const void* data, i64 index) const { return element<T>(data, index); }
};
template <>
struct Elements<E4m3> {
  float values[256];
  __device__ void prepare() {  // by a CTA of 256 threads
    const u8 code = static_cast<u8>(threadIdx.x);
    values[threadIdx.x] = element<E4m3>(&code, 0);
    __syncthreads();
  }
  __device__ float operator()(const void* data, i64 index) const { return values[static_cast<const u8*>(data)[index]]; }
};

template <class T>
__device__ float rounded(float value) {
  return float16_value<T>(static_cast<u16>(pack16<T>(value, 0.0f) & 0xffffu));
}

struct ReferenceGemmArgs {
  const void* a;         // T [rows, k]
  const void* b;         // T [experts, n, k]
  float* c;              // [slots, n]; rounded to Out
  const float* a_scale;  // as GroupedGemmArgs; null without scales
  const float* b_scale;
  const float* weights;  // [slots] or null
  const i32* topk_ids;   // [slots]
  i32 n, k, slots, slots_per_row;
  i32 scales;  // 0 none, 1 tensor, 2 channel, 3 block
  i32 block_n, block_k;
};

// One warp an output; lanes walk K.
template <class T, class Out>
__global__ void __launch_bounds__(256) reference_gemm(const ReferenceGemmArgs args) {
  __shared__ Elements<T> elements;
  elements.prepare();
  const i64 index = static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32;
  const int lane = threadIdx.x & 31;
  if (index >= static_cast<i64>(args.slots) * args.n) return;
  const i64 slot = index / args.n;
  const i64 column = index % args.n;
  const i64 expert = args.topk_ids[slot];
  if (expert < 0) return;
  const i64 row = slot / args.slots_per_row;
  const i64 weight_row = expert * args.n + column;
  const i64 k_blocks = args.scales == 3 ? (args.k + args.block_k - 1) / args.block_k : 0;
  const i64 n_blocks = args.scales == 3 ? (args.n + args.block_n - 1) / args.block_n : 0;
  float sum = 0.0f;
  for (i64 k = lane; k < args.k; k += 32) {
    float product = elements(args.a, row * args.k + k) * elements(args.b, weight_row * args.k + k);
    if (args.scales == 3) {
      const i64 block = k / args.block_k;
      product *= args.a_scale[row * k_blocks + block] *
                 args.b_scale[(expert * n_blocks + column / args.block_n) * k_blocks + block];
    }
    sum += product;
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (lane != 0) return;
  if (args.scales == 1) sum *= args.a_scale[0] * args.b_scale[expert];
  if (args.scales == 2) sum *= args.a_scale[row] * args.b_scale[weight_row];
  if (args.weights != nullptr) sum *= args.weights[slot];
  args.c[index] = rounded<Out>(sum);
}

struct ReferenceQuantiseArgs {
  const void* in;             // T [rows, k], or fp32 with in_is_float
  u8* out;                    // e4m3 [rows, k]
  float* scale;               // [rows, groups]
  const float* tensor_scale;  // [1] or null
  i32 rows, k, group;
  i32 in_is_float;
};

__device__ u8 nearest_e4m3(float value) {
  // Search of all finite codes: slow, and beyond doubt. Ties go to the even code.
  const float magnitude = fminf(fabsf(value), 448.0f);
  u32 best = 0;
  float best_distance = magnitude;
  for (u32 code = 1; code < 0x7f; ++code) {
    u8 byte = static_cast<u8>(code);
    const float distance = fabsf(element<E4m3>(&byte, 0) - magnitude);
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
      best = code;
      best_distance = distance;
    }
  }
  return static_cast<u8>(best | (value < 0.0f ? 0x80u : 0u));
}

// One thread a group.
template <class T>
__global__ void __launch_bounds__(128) reference_quantise(const ReferenceQuantiseArgs args) {
  const i64 groups = (args.k + args.group - 1) / args.group;
  const i64 index = static_cast<i64>(blockIdx.x) * 128 + threadIdx.x;
  if (index >= args.rows * groups) return;
  const i64 first = index / groups * args.k + index % groups * args.group;
  const i64 count = min(static_cast<i64>(args.group), args.k - index % groups * args.group);
  const auto value = [&](i64 i) {
    return args.in_is_float ? static_cast<const float*>(args.in)[first + i] : element<T>(args.in, first + i);
  };
  float scale = 1.0f;
  if (args.tensor_scale != nullptr) {
    scale = args.tensor_scale[0];
  } else {
    float largest = 1e-10f;
    for (i64 i = 0; i < count; ++i) largest = fmaxf(largest, fabsf(value(i)));
    scale = largest / 448.0f;
    args.scale[index] = scale;
  }
  for (i64 i = 0; i < count; ++i) args.out[first + i] = nearest_e4m3(value(i) / scale);
}

struct ReferenceActivationArgs {
  const float* in;  // [slots, 2*shard], already rounded to T
  float* out;       // [slots, shard]
  void* out16;      // T [slots, shard] or null: also written rounded
  i32 slots, shard;
};

template <class T>
__global__ void __launch_bounds__(256) reference_activation(const ReferenceActivationArgs args) {
  const i64 index = static_cast<i64>(blockIdx.x) * 256 + threadIdx.x;
  if (index >= static_cast<i64>(args.slots) * args.shard) return;
  const i64 slot = index / args.shard;
  const float gate = args.in[slot * 2 * args.shard + index % args.shard];
  const float up = args.in[slot * 2 * args.shard + args.shard + index % args.shard];
  const float value = gate / (1.0f + expf(-gate)) * up;
  args.out[index] = value;
  if (args.out16 != nullptr) static_cast<u16*>(args.out16)[index] = static_cast<u16>(pack16<T>(value, 0.0f) & 0xffffu);
}

struct ReferenceCombineArgs {
  const float* in;  // [tokens, topk, hidden]
  float* out;       // [tokens, hidden]; not rounded
  const i32* topk_ids;
  i32 tokens, topk, hidden;
};

__global__ void __launch_bounds__(256) reference_combine(const ReferenceCombineArgs args) {
  const i64 index = static_cast<i64>(blockIdx.x) * 256 + threadIdx.x;
  if (index >= static_cast<i64>(args.tokens) * args.hidden) return;
  const i64 token = index / args.hidden;
  float sum = 0.0f;
  for (int k = 0; k < args.topk; ++k) {
    const i64 slot = token * args.topk + k;
    if (args.topk_ids[slot] >= 0) sum += args.in[slot * args.hidden + index % args.hidden];
  }
  args.out[index] = sum;
}

}  // namespace moetune
