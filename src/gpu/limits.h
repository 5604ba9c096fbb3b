// What the tool needs to know of a GPU; plain data, so that a replay device or `--arch` can stand in for a real one.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace moetune {

struct GpuLimits {
  std::string name;            // as the driver says it, e.g. "NVIDIA H200"
  int compute_capability = 0;  // major * 10 + minor, e.g. 90
  std::string arch;            // NVRTC target for this GPU, e.g. "sm_90a"
  int sm_count = 0;
  int shared_memory_per_block_optin = 0;  // bytes
  int shared_memory_per_sm = 0;           // bytes
  int registers_per_sm = 0;               // 32-bit registers
  int max_threads_per_sm = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  double memory_bandwidth =
      0;                   // bytes/s by the driver's bus width and memory clock; a lead for pruning, never reported
  int driver_version = 0;  // CUDA version the driver supports, e.g. 13000
};

Json to_json(const GpuLimits& limits);
GpuLimits gpu_limits_from_json(const Json& json);

// "sm_90a" for 90, "sm_100a" for 100, "sm_120a" for 120, "sm_89" for 89: the target with every instruction the chip
// has.
std::string arch_for_compute_capability(int compute_capability);

// Inverse: 90 for "sm_90a"; throws Error(usage) for a malformed name.
int compute_capability_of_arch(const std::string& arch);

// Limits of a GPU that is not there, for compiling and dry runs. Known: sm_80 sm_86 sm_89 sm_90a sm_100a sm_103a
// sm_120a; Error(usage) otherwise. Names are generic ("sm_90a").
GpuLimits limits_of_arch(const std::string& arch);

}  // namespace moetune
