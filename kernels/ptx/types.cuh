// Element types and conversions without toolkit headers: a kernel compiles in about half the time.
#pragma once

namespace moetune {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;

struct Bf16 {
  static constexpr int bytes = 2;
};
struct Fp16 {
  static constexpr int bytes = 2;
};
struct E4m3 {
  static constexpr int bytes = 1;
};

__device__ __forceinline__ float bf16_to_float(u16 bits) { return __uint_as_float(static_cast<u32>(bits) << 16); }

__device__ __forceinline__ float fp16_to_float(u16 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

// Two floats to two 16-bit values, `low` in the low half.
template <class T>
__device__ __forceinline__ u32 pack16(float low, float high);
template <>
__device__ __forceinline__ u32 pack16<Bf16>(float low, float high) {
  u32 packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
template <>
__device__ __forceinline__ u32 pack16<Fp16>(float low, float high) {
  u32 packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

template <class T>
__device__ __forceinline__ float float16_value(u16 bits);
template <>
__device__ __forceinline__ float float16_value<Bf16>(u16 bits) {
  return bf16_to_float(bits);
}
template <>
__device__ __forceinline__ float float16_value<Fp16>(u16 bits) {
  return fp16_to_float(bits);
}

// Four e4m3 bytes to two registers of two fp16 each (exact: fp16 holds every e4m3 value, also the subnormal ones).
__device__ __forceinline__ void e4m3x4_to_half(u32 bytes, u32& low, u32& high) {
#if __CUDA_ARCH__ >= 890
  asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.rn.f16x2.e4m3x2 %0, a;\ncvt.rn.f16x2.e4m3x2 %1, b;\n}"
      : "=r"(low), "=r"(high)
      : "r"(bytes));
#else
  // Exponent and mantissa move to fp16's place; the bias differs by 8, hence times 2^8. (NaN bytes become 480.)
  const u32 even = __byte_perm(bytes, 0, 0x1404);  // bytes 0 and 1 into the upper byte of each half
  const u32 odd = __byte_perm(bytes, 0, 0x3424);
  const u32 a = (even & 0x80008000u) | ((even & 0x7f007f00u) >> 1);
  const u32 b = (odd & 0x80008000u) | ((odd & 0x7f007f00u) >> 1);
  const u32 scale = 0x5c005c00u;  // 256, 256
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(low) : "r"(a), "r"(scale));
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(high) : "r"(b), "r"(scale));
#endif
}

__device__ __forceinline__ float e4m3_to_float(u8 byte) {
  u32 low, high;
  e4m3x4_to_half(byte, low, high);
  return fp16_to_float(static_cast<u16>(low & 0xffffu));
}

// Nearest e4m3, ties to even, saturating at 448.
__device__ __forceinline__ u8 float_to_e4m3(float value) {
#if __CUDA_ARCH__ >= 890
  u16 packed;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(0.0f), "f"(value));
  return static_cast<u8>(packed & 0xffu);
#else
  const u32 sign = (__float_as_uint(value) >> 24) & 0x80u;
  const float magnitude = fabsf(value);
  if (!(magnitude <= 448.0f)) return static_cast<u8>(sign | (magnitude != magnitude ? 0x7fu : 0x7eu));
  if (magnitude < 0.015625f) {  // below 2^-6: steps of 2^-9; rounding up to 8 steps is the first normal number
    return static_cast<u8>(sign | static_cast<u32>(rintf(magnitude * 512.0f)));
  }
  u32 bits = __float_as_uint(magnitude);
  bits += 0x7ffffu + ((bits >> 20) & 1u);  // round to 3 mantissa bits, ties to even
  const u32 code = (((bits >> 23) - 120u) << 3) | ((bits >> 20) & 7u);
  return static_cast<u8>(sign | (code > 0x7eu ? 0x7eu : code));
#endif
}

}  // namespace moetune
