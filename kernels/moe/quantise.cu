// Step "quantise": 16-bit rows to e4m3, one warp a group of K.
#include "moe/quantise.cuh"
#include "ptx/warp.cuh"

namespace moetune {

struct QuantiseArgs {
  const u16* in;              // T [rows, k]
  u8* out;                    // e4m3 [rows, k]
  float* scale;               // [rows, groups]; written
  const float* tensor_scale;  // [1]; not null: one given scale for all, `scale` unused
  i32 rows, k;
  i32 group;  // k values a scale covers (the whole row: per token)
};

template <class T>
__global__ void __launch_bounds__(256) quantise_rows(const QuantiseArgs args) {
  const int groups = (args.k + args.group - 1) / args.group;
  const i64 index = static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32;
  const int lane = threadIdx.x & 31;
  if (index >= static_cast<i64>(args.rows) * groups) return;
  const i64 row = index / groups;
  const int first = static_cast<int>(index % groups) * args.group;
  const int count = min(args.group, args.k - first);
  const u16* in = args.in + row * args.k + first;
  u8* out = args.out + row * args.k + first;

  float scale;
  if (args.tensor_scale != nullptr) {
    scale = *args.tensor_scale;
  } else {
    float largest = 0.0f;
    for (int i = lane * 4; i < count; i += 128) {
      const uint2 four = *reinterpret_cast<const uint2*>(in + i);
      largest = fmaxf(largest, fmaxf(fabsf(float16_value<T>(four.x & 0xffffu)), fabsf(float16_value<T>(four.x >> 16))));
      largest = fmaxf(largest, fmaxf(fabsf(float16_value<T>(four.y & 0xffffu)), fabsf(float16_value<T>(four.y >> 16))));
    }
    scale = e4m3_scale(warp_max(largest));
    if (lane == 0) args.scale[index] = scale;
  }
  for (int i = lane * 4; i < count; i += 128) {
    const uint2 four = *reinterpret_cast<const uint2*>(in + i);
    const u32 packed = quantise_e4m3(float16_value<T>(four.x & 0xffffu), scale) |
                       quantise_e4m3(float16_value<T>(four.x >> 16), scale) << 8 |
                       quantise_e4m3(float16_value<T>(four.y & 0xffffu), scale) << 16 |
                       static_cast<u32>(quantise_e4m3(float16_value<T>(four.y >> 16), scale)) << 24;
    *reinterpret_cast<u32*>(out + i) = packed;
  }
}

}  // namespace moetune
