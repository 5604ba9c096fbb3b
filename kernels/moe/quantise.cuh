// How 16-bit and fp32 values become e4m3 with a scale: value = code * scale.
#pragma once

#include "ptx/types.cuh"

namespace moetune {

constexpr float kE4m3Max = 448.0f;

// The scale of a group with this largest magnitude (the floor keeps an all-zero group from dividing by zero).
__device__ __forceinline__ float e4m3_scale(float largest) { return fmaxf(largest, 1e-10f) / kE4m3Max; }

__device__ __forceinline__ u8 quantise_e4m3(float value, float scale) { return float_to_e4m3(value / scale); }

}  // namespace moetune
