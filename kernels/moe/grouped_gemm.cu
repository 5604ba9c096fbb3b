// Grouped MoE GEMM for sm_80 and up: C[slot] = A[slot / slots_per_row] * B[expert(slot)]^T, with mma.sync and a
// multi-stage cp.async ring. One CTA computes BLOCK_M sorted token slots x BLOCK_N weight rows over all of K.
//
// Weights lie on the m16 side of mma.sync and tokens on the n8 side, so that 8 tokens already fill an instruction.
// Scales and the fp32 promotion follow the engine: with block scales, each BLOCK_K of K is summed on its own and then
// added with its two scales.
#include "ptx/copy.cuh"
#include "ptx/mma.cuh"

namespace moetune {

enum : int { kScalesNone = 0, kScalesTensor = 1, kScalesChannel = 2, kScalesBlock = 3 };

struct GroupedGemmArgs {
  const u8* a;           // T [rows, k]
  const u8* b;           // T [experts, n, k]
  u16* c;                // Out [slots, n]
  const float* a_scale;  // block: [rows, ceil(k/block_k)]; channel: [rows]; tensor: [1]
  const float* b_scale;  // block: [experts, ceil(n/block_n), ceil(k/block_k)]; channel: [experts, n]; tensor: [experts]
  const float* topk_weights;          // [slots], multiplied into the output; null: not
  const i32* sorted_token_ids;        // null: block m is slot m alone ("naive", no sort)
  const i32* expert_ids;              // one a block of BLOCK_M sorted slots
  const i32* num_tokens_post_padded;  // unused when naive
  i32 n, k;
  i32 m_blocks;          // upper bound: what the grid covers
  i32 slots;             // tokens * topk; a sorted id >= slots is padding
  i32 slots_per_row;     // topk for GEMM1, 1 for GEMM2
  i32 group_size_m;      // M blocks that share a band of the raster
  i32 block_n, block_k;  // of the weights' scales
};

// How the warps share a tile: along weight rows, along tokens, and (tiles with fewer mma tiles than warps) along K.
struct WarpLayout {
  int n, m, k;
};

constexpr WarpLayout choose_warps(int block_m, int block_n, int warps) {
  WarpLayout best{0, 0, 0};
  int best_rows = 1 << 30;  // rows of both operands a warp reads from shared memory per step of K
  for (int m = 1; m <= warps; m *= 2) {
    const int n = warps / m;
    if (block_m / m < 8 || block_n / n < 16) continue;
    const int rows = block_m / m + block_n / n;
    if (rows < best_rows) {
      best_rows = rows;
      best = {n, m, 1};
    }
  }
  if (best.n == 0) best = {block_n / 16, block_m / 8, warps / ((block_n / 16) * (block_m / 8))};
  return best;
}

// Byte offset of 16-byte chunk `chunk` of row `row`: chunks are XORed with the row so that the 8 rows of a matrix load
// touch all banks.
template <int RowBytes>
__device__ __forceinline__ u32 swizzled(int row, int chunk) {
  const int flip = RowBytes >= 128 ? (row & 7) : ((row >> 1) & 3);
  return static_cast<u32>(row * RowBytes + ((chunk ^ flip) << 4));
}

template <class T, int Scales, int BlockM, int BlockN, int BlockK, int Warps, int Stages>
struct GemmTile {
  static constexpr int block_m = BlockM, block_n = BlockN, block_k = BlockK;
  static constexpr int element_bytes = T::bytes;
  static constexpr bool block_scales = Scales == kScalesBlock;
  static constexpr int threads = Warps * 32;
  static constexpr int row_bytes = BlockK * T::bytes;
  static constexpr int chunks = row_bytes / 16;
  static constexpr int a_bytes = BlockM * row_bytes;
  static constexpr int b_bytes = BlockN * row_bytes;
  static constexpr int b_scales = 8;  // scale blocks that BLOCK_N rows can touch (host checks block_n >= 64)
  static constexpr int scale_bytes = block_scales ? (BlockM + b_scales) * 4 : 0;
  static constexpr int stage_bytes = a_bytes + b_bytes + scale_bytes;
  static constexpr int table_bytes = BlockM * 8;  // slot and row of each token of the tile
  static constexpr WarpLayout warps = choose_warps(BlockM, BlockN, Warps);
  static constexpr int tiles_n = BlockN / warps.n / 16;
  static constexpr int tiles_m = BlockM / warps.m / 8;
};

// The tile of this CTA in the engine's raster: group_size_m blocks of M, then N, then the next band.
struct TileIndex {
  int m, n;
};
__device__ __forceinline__ TileIndex tile_of(int program, int m_blocks, int n_blocks, int group_size_m) {
  const int band_programs = group_size_m * n_blocks;
  const int band = program / band_programs;
  const int first_m = band * group_size_m;
  const int band_m = min(m_blocks - first_m, group_size_m);
  const int in_band = program - band * band_programs;
  return {first_m + in_band % band_m, in_band / band_m};
}

// Starts the copies of one step of K: token rows, weight rows and, with block scales, their scales.
template <class Tile>
__device__ __forceinline__ void load_stage(const GroupedGemmArgs& args, u32 stage, const i32* row_table, int expert,
                                           int n0, int step) {
  const int thread = threadIdx.x;
  const int chunk = thread % Tile::chunks;
  const i64 row_pitch = static_cast<i64>(args.k) * Tile::element_bytes;
  const i64 k_byte = static_cast<i64>(step) * Tile::row_bytes + chunk * 16;
  const bool k_valid = k_byte < row_pitch;
  constexpr int rows_per_pass = Tile::threads / Tile::chunks;
#pragma unroll
  for (int row = thread / Tile::chunks; row < Tile::block_m; row += rows_per_pass) {
    const i32 source = row_table[row];
    const bool valid = k_valid && source >= 0;
    copy_async_16(stage + swizzled<Tile::row_bytes>(row, chunk), args.a + (valid ? source * row_pitch + k_byte : 0),
                  valid);
  }
  const u8* weights = args.b + (static_cast<i64>(expert) * args.n + n0) * row_pitch + k_byte;
#pragma unroll
  for (int row = thread / Tile::chunks; row < Tile::block_n; row += rows_per_pass) {
    const bool valid = k_valid && n0 + row < args.n;
    copy_async_16(stage + Tile::a_bytes + swizzled<Tile::row_bytes>(row, chunk),
                  valid ? weights + row * row_pitch : args.b, valid);
  }
  if constexpr (Tile::block_scales) {
    const int k_blocks = (args.k + args.block_k - 1) / args.block_k;
    const int k_block = step * Tile::block_k / args.block_k;
    const u32 scales = stage + Tile::a_bytes + Tile::b_bytes;
    for (int row = thread; row < Tile::block_m; row += Tile::threads) {
      const i32 source = row_table[row];
      copy_async_4(scales + row * 4, args.a_scale + (source >= 0 ? static_cast<i64>(source) * k_blocks + k_block : 0),
                   source >= 0);
    }
    const int n_blocks = (args.n + args.block_n - 1) / args.block_n;
    const int first = n0 / args.block_n;
    if (thread < Tile::b_scales) {
      const bool valid = first + thread < n_blocks;
      const i64 index = (static_cast<i64>(expert) * n_blocks + first + thread) * k_blocks + k_block;
      copy_async_4(scales + (Tile::block_m + thread) * 4, args.b_scale + (valid ? index : 0), valid);
    }
  }
}

template <class T, class Out, int Scales, int BlockM, int BlockN, int BlockK, int Warps, int Stages>
__global__ void __launch_bounds__(Warps * 32) grouped_gemm(const GroupedGemmArgs args) {
  using Tile = GemmTile<T, Scales, BlockM, BlockN, BlockK, Warps, Stages>;
  constexpr bool block_scales = Tile::block_scales;
  extern __shared__ __align__(128) u8 shared[];

  const int n_blocks = (args.n + BlockN - 1) / BlockN;
  const TileIndex tile = tile_of(blockIdx.x, args.m_blocks, n_blocks, args.group_size_m);
  const bool naive = args.sorted_token_ids == nullptr;
  if (!naive && tile.m * BlockM >= *args.num_tokens_post_padded) return;
  const int expert = args.expert_ids[tile.m];
  if (expert < 0) return;
  const int n0 = tile.n * BlockN;

  i32* slot_table = reinterpret_cast<i32*>(shared);
  i32* row_table = slot_table + BlockM;
  for (int i = threadIdx.x; i < BlockM; i += Tile::threads) {
    i32 slot = naive ? (i == 0 ? tile.m : args.slots) : args.sorted_token_ids[tile.m * BlockM + i];
    if (slot >= args.slots) slot = -1;
    slot_table[i] = slot;
    row_table[i] = slot < 0 ? -1 : slot / args.slots_per_row;
  }
  __syncthreads();

  u8* ring = shared + Tile::table_bytes;
  const u32 ring_address = shared_address(ring);
  const int steps = (args.k + BlockK - 1) / BlockK;
  const auto load = [&](int step) {
    if (step < steps) {
      load_stage<Tile>(args, ring_address + (step % Stages) * Tile::stage_bytes, row_table, expert, n0, step);
    }
    copy_async_commit();
  };
#pragma unroll
  for (int step = 0; step < Stages - 1; ++step) load(step);

  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  const int warp_n = warp % Tile::warps.n;
  const int warp_m = warp / Tile::warps.n % Tile::warps.m;
  const int warp_k = warp / (Tile::warps.n * Tile::warps.m);
  const int first_row = warp_n * Tile::tiles_n * 16;   // weight rows of this warp within the tile
  const int first_token = warp_m * Tile::tiles_m * 8;  // tokens of this warp within the tile

  float sums[Tile::tiles_n][Tile::tiles_m][4] = {};
  for (int step = 0; step < steps; ++step) {
    copy_async_wait<Stages - 2>();
    __syncthreads();
    load(step + Stages - 1);

    const int slot = step % Stages;
    const u32 a_tile = ring_address + slot * Tile::stage_bytes;
    const u32 b_tile = a_tile + Tile::a_bytes;
    float part[Tile::tiles_n][Tile::tiles_m][4];
    if constexpr (block_scales) {
#pragma unroll
      for (int i = 0; i < Tile::tiles_n * Tile::tiles_m * 4; ++i) (&part[0][0][0])[i] = 0.0f;
    }
    auto& target = block_scales ? part : sums;
#pragma unroll
    for (int k = 0; k < Tile::chunks / 2; ++k) {
      if (Tile::warps.k > 1 && k % Tile::warps.k != warp_k) continue;
      typename Mma<T>::A weights[Tile::tiles_n];
      typename Mma<T>::B tokens[Tile::tiles_m];
#pragma unroll
      for (int i = 0; i < Tile::tiles_n; ++i) {
        u32 raw[4];
        load_matrix_x4(raw, b_tile + swizzled<Tile::row_bytes>(first_row + i * 16 + (lane & 15), 2 * k + (lane >> 4)));
        weights[i] = Mma<T>::prepare_a(raw);
      }
      if constexpr (Tile::tiles_m == 1) {
        u32 raw[2];
        load_matrix_x2(raw, a_tile + swizzled<Tile::row_bytes>(first_token + (lane & 7), 2 * k + ((lane >> 3) & 1)));
        tokens[0] = Mma<T>::prepare_b(raw[0], raw[1]);
      } else {
#pragma unroll
        for (int i = 0; i < Tile::tiles_m; i += 2) {
          u32 raw[4];
          load_matrix_x4(raw, a_tile + swizzled<Tile::row_bytes>(first_token + i * 8 + (lane & 7) + (lane >> 4) * 8,
                                                                 2 * k + ((lane >> 3) & 1)));
          tokens[i] = Mma<T>::prepare_b(raw[0], raw[1]);
          tokens[i + 1] = Mma<T>::prepare_b(raw[2], raw[3]);
        }
      }
#pragma unroll
      for (int i = 0; i < Tile::tiles_n; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::tiles_m; ++j) Mma<T>::run(target[i][j], weights[i], tokens[j]);
      }
    }
    if constexpr (block_scales) {
      const float* scales =
          reinterpret_cast<const float*>(ring + slot * Tile::stage_bytes + Tile::a_bytes + Tile::b_bytes);
      const int first_block = n0 / args.block_n;
#pragma unroll
      for (int i = 0; i < Tile::tiles_n; ++i) {
        const float row_scale = scales[BlockM + (n0 + first_row + i * 16) / args.block_n - first_block];
#pragma unroll
        for (int j = 0; j < Tile::tiles_m; ++j) {
          const float2 token_scale = *reinterpret_cast<const float2*>(scales + first_token + j * 8 + 2 * (lane & 3));
          const float s0 = row_scale * token_scale.x;
          const float s1 = row_scale * token_scale.y;
          sums[i][j][0] += part[i][j][0] * s0;
          sums[i][j][1] += part[i][j][1] * s1;
          sums[i][j][2] += part[i][j][2] * s0;
          sums[i][j][3] += part[i][j][3] * s1;
        }
      }
    }
  }
  copy_async_wait<0>();
  __syncthreads();

  if constexpr (Tile::warps.k > 1) {  // one mma tile a warp: add the warps' parts of K
    float4* parts = reinterpret_cast<float4*>(ring);
    constexpr int group = Tile::warps.n * Tile::warps.m;
    if (warp_k > 0) {
      parts[threadIdx.x] = make_float4(sums[0][0][0], sums[0][0][1], sums[0][0][2], sums[0][0][3]);
    }
    __syncthreads();
    if (warp_k == 0) {
#pragma unroll
      for (int k = 1; k < Tile::warps.k; ++k) {
        const float4 other = parts[threadIdx.x + k * group * 32];
        sums[0][0][0] += other.x;
        sums[0][0][1] += other.y;
        sums[0][0][2] += other.z;
        sums[0][0][3] += other.w;
      }
    }
    __syncthreads();
  }

  // Epilogue: scale, router weight, one rounding; through shared memory, so that each token's row is written in 16-byte
  // pieces. The row pitch keeps the 4 token pairs of a warp on different banks.
  constexpr int pitch = BlockN + 8;
  u16* staged = reinterpret_cast<u16*>(ring);
  if (warp_k == 0) {
#pragma unroll
    for (int j = 0; j < Tile::tiles_m; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int token = first_token + j * 8 + 2 * (lane & 3) + half;
        const i32 slot = slot_table[token];
        float token_scale = slot >= 0 && args.topk_weights != nullptr ? args.topk_weights[slot] : 1.0f;
        if constexpr (Scales == kScalesTensor) token_scale *= args.a_scale[0] * args.b_scale[expert];
        if constexpr (Scales == kScalesChannel) token_scale *= slot >= 0 ? args.a_scale[row_table[token]] : 0.0f;
#pragma unroll
        for (int i = 0; i < Tile::tiles_n; ++i) {
          const int row = first_row + i * 16 + (lane >> 2);
          float low = sums[i][j][half] * token_scale;
          float high = sums[i][j][half + 2] * token_scale;
          if constexpr (Scales == kScalesChannel) {
            const float* channel = args.b_scale + static_cast<i64>(expert) * args.n + n0;
            if (n0 + row < args.n) low *= channel[row];
            if (n0 + row + 8 < args.n) high *= channel[row + 8];
          }
          const u32 packed = pack16<Out>(low, high);
          staged[token * pitch + row] = static_cast<u16>(packed & 0xffffu);
          staged[token * pitch + row + 8] = static_cast<u16>(packed >> 16);
        }
      }
    }
  }
  __syncthreads();
  constexpr int pieces = BlockN / 8;
  for (int i = threadIdx.x; i < BlockM * pieces; i += Tile::threads) {
    const int token = i / pieces;
    const int column = i % pieces * 8;
    const i32 slot = slot_table[token];
    if (slot >= 0 && n0 + column < args.n) {
      *reinterpret_cast<uint4*>(args.c + static_cast<i64>(slot) * args.n + n0 + column) =
          *reinterpret_cast<const uint4*>(staged + token * pitch + column);
    }
  }
}

}  // namespace moetune
