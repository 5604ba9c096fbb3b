// Step "combine": the sum over a token's top-k slots in fp32, in slot order; one rounding.
#include "ptx/types.cuh"

namespace moetune {

struct CombineArgs {
  const u16* in;        // T [tokens, topk, hidden], router weight applied
  u16* out;             // T [tokens, hidden]
  const i32* topk_ids;  // [tokens, topk]; a slot of another rank adds nothing
  i32 tokens, topk, hidden;
};

template <class T>
__global__ void __launch_bounds__(256) topk_sum(const CombineArgs args) {
  const i64 token = blockIdx.y;
  const int column = (blockIdx.x * 256 + threadIdx.x) * 8;
  if (column >= args.hidden) return;
  float sums[8] = {};
  for (int k = 0; k < args.topk; ++k) {
    const i64 slot = token * args.topk + k;
    if (args.topk_ids[slot] < 0) continue;
    const uint4 eight = *reinterpret_cast<const uint4*>(args.in + slot * args.hidden + column);
    const u32 pairs[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sums[2 * i] += float16_value<T>(static_cast<u16>(pairs[i] & 0xffffu));
      sums[2 * i + 1] += float16_value<T>(static_cast<u16>(pairs[i] >> 16));
    }
  }
  *reinterpret_cast<uint4*>(args.out + token * args.hidden + column) =
      make_uint4(pack16<T>(sums[0], sums[1]), pack16<T>(sums[2], sums[3]), pack16<T>(sums[4], sums[5]),
                 pack16<T>(sums[6], sums[7]));
}

}  // namespace moetune
