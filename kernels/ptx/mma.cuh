// mma.sync on 32 bytes of K: m16 x n8, fp32 accumulators.
//
// Fragments as ldmatrix delivers them (16-byte chunks c0, c1 of K): a = {rows 0-7 c0, rows 8-15 c0, rows 0-7 c1,
// rows 8-15 c1}, b = {columns 0-7 c0, columns 0-7 c1}. d: rows lane/4 and lane/4 + 8, columns 2*(lane%4) + {0, 1}.
#pragma once

#include "ptx/types.cuh"

namespace moetune {

__device__ __forceinline__ void mma_fp16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void mma_bf16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Fragments of 32 bytes of K in the form the tensor cores of this target take.
template <class T>
struct Mma {
  struct A {
    u32 r[4];
  };
  struct B {
    u32 r[2];
  };
  static __device__ __forceinline__ A prepare_a(const u32 (&raw)[4]) { return {{raw[0], raw[1], raw[2], raw[3]}}; }
  static __device__ __forceinline__ B prepare_b(u32 c0, u32 c1) { return {{c0, c1}}; }
  static __device__ __forceinline__ void run(float (&d)[4], const A& a, const B& b);
};

template <>
__device__ __forceinline__ void Mma<Bf16>::run(float (&d)[4], const A& a, const B& b) {
  mma_bf16(d, a.r, b.r[0], b.r[1]);
}
template <>
__device__ __forceinline__ void Mma<Fp16>::run(float (&d)[4], const A& a, const B& b) {
  mma_fp16(d, a.r, b.r[0], b.r[1]);
}

#if __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
// Native e4m3 (one instruction).
template <>
__device__ __forceinline__ void Mma<E4m3>::run(float (&d)[4], const A& a, const B& b) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b.r[0]), "r"(b.r[1]));
}
#else
// Elsewhere mma.sync has no e4m3 (sm_80) or converts inside every instruction (sm_90, sm_100). Converting fragments to
// fp16 once and using them for all tiles of the warp costs far fewer conversions. Each 4-byte piece holds K 4t..4t+3
// of both operands, so splitting all pieces into their halves permutes K alike on both sides and the sum is the same.
template <>
struct Mma<E4m3> {
  struct A {
    u32 low[4], high[4];
  };
  struct B {
    u32 low[2], high[2];
  };
  static __device__ __forceinline__ A prepare_a(const u32 (&raw)[4]) {
    A a;
#pragma unroll
    for (int i = 0; i < 4; ++i) e4m3x4_to_half(raw[i], a.low[i], a.high[i]);
    return a;
  }
  static __device__ __forceinline__ B prepare_b(u32 c0, u32 c1) {
    B b;
    e4m3x4_to_half(c0, b.low[0], b.high[0]);
    e4m3x4_to_half(c1, b.low[1], b.high[1]);
    return b;
  }
  static __device__ __forceinline__ void run(float (&d)[4], const A& a, const B& b) {
    mma_fp16(d, a.low, b.low[0], b.low[1]);
    mma_fp16(d, a.high, b.high[0], b.high[1]);
  }
};
#endif

}  // namespace moetune
