// Groups token slots by expert in runs that start at multiples of BLOCK_M (the engine's moe_align_block_size layout).
// One CTA: the lists are short, and a second launch would cost more than it saves.
#include "ptx/types.cuh"

namespace moetune {

struct SortArgs {
  const i32* topk_ids;          // [slots]; -1: not on this rank
  i32* sorted_token_ids;        // [capacity]; padding is `slots`
  i32* expert_ids;              // [capacity / block_m]; -1 past the used part
  i32* num_tokens_post_padded;  // [1]
  i32 slots;
  i32 experts;  // local, at most 1024
  i32 block_m;
  i32 block_capacity;  // entries of expert_ids
};

constexpr int kSortThreads = 1024;

__global__ void __launch_bounds__(kSortThreads) sort_slots(const SortArgs args) {
  __shared__ i32 counts[kSortThreads];
  __shared__ i32 starts[kSortThreads];  // inclusive sums of the padded counts, in sorted slots
  __shared__ i32 cursors[kSortThreads];
  const int thread = threadIdx.x;
  counts[thread] = 0;
  __syncthreads();
  for (int slot = thread; slot < args.slots; slot += kSortThreads) {
    const i32 expert = args.topk_ids[slot];
    if (expert >= 0) atomicAdd(&counts[expert], 1);
  }
  __syncthreads();
  const i32 padded = (counts[thread] + args.block_m - 1) / args.block_m * args.block_m;
  starts[thread] = padded;
  __syncthreads();
  for (int distance = 1; distance < kSortThreads; distance *= 2) {
    const i32 before = thread >= distance ? starts[thread - distance] : 0;
    __syncthreads();
    starts[thread] += before;
    __syncthreads();
  }
  const i32 start = starts[thread] - padded;
  const i32 total = starts[kSortThreads - 1];
  cursors[thread] = start;
  if (thread < args.experts) {
    for (int block = start / args.block_m; block < (start + padded) / args.block_m; ++block) {
      args.expert_ids[block] = thread;
    }
    for (int i = start + counts[thread]; i < start + padded; ++i) args.sorted_token_ids[i] = args.slots;
  }
  for (int block = total / args.block_m + thread; block < args.block_capacity; block += kSortThreads) {
    args.expert_ids[block] = -1;
  }
  if (thread == 0) *args.num_tokens_post_padded = total;
  __syncthreads();
  for (int slot = thread; slot < args.slots; slot += kSortThreads) {
    const i32 expert = args.topk_ids[slot];
    if (expert >= 0) args.sorted_token_ids[atomicAdd(&cursors[expert], 1)] = slot;
  }
}

}  // namespace moetune
