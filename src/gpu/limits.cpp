#include "gpu/limits.h"

#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace moetune {

namespace {

struct ArchRow {
  const char* arch;
  int compute_capability, sm_count, shared_optin, shared_per_sm, threads_per_sm;
  int l2_mb, memory_gb;
  double bandwidth;
};

// Generic parts of each target (A100, A10, L40S, H100, B200, B300, RTX PRO 6000), for compiling and dry runs only.
constexpr std::array<ArchRow, 7> known = {{
    {"sm_80", 80, 108, 166912, 167936, 2048, 40, 80, 2.0e12},
    {"sm_86", 86, 72, 101376, 102400, 1536, 6, 24, 0.6e12},
    {"sm_89", 89, 142, 101376, 102400, 1536, 96, 48, 0.86e12},
    {"sm_90a", 90, 132, 232448, 233472, 2048, 50, 80, 3.35e12},
    {"sm_100a", 100, 148, 232448, 233472, 2048, 126, 180, 8.0e12},
    {"sm_103a", 103, 148, 232448, 233472, 2048, 126, 270, 8.0e12},
    {"sm_120a", 120, 188, 101376, 102400, 1536, 128, 96, 1.8e12},
}};

}  // namespace

Json to_json(const GpuLimits& l) {
  return {{"name", l.name},
          {"compute_capability", l.compute_capability},
          {"arch", l.arch},
          {"sm_count", l.sm_count},
          {"shared_memory_per_block_optin", l.shared_memory_per_block_optin},
          {"shared_memory_per_sm", l.shared_memory_per_sm},
          {"registers_per_sm", l.registers_per_sm},
          {"max_threads_per_sm", l.max_threads_per_sm},
          {"l2_bytes", l.l2_bytes},
          {"memory_bytes", l.memory_bytes},
          {"memory_bandwidth", l.memory_bandwidth},
          {"driver_version", l.driver_version}};
}

GpuLimits gpu_limits_from_json(const Json& json) {
  try {
    GpuLimits l;
    l.name = json.at("name").get<std::string>();
    l.compute_capability = json.at("compute_capability").get<int>();
    l.arch = json.at("arch").get<std::string>();
    l.sm_count = json.at("sm_count").get<int>();
    l.shared_memory_per_block_optin = json.at("shared_memory_per_block_optin").get<int>();
    l.shared_memory_per_sm = json.at("shared_memory_per_sm").get<int>();
    l.registers_per_sm = json.at("registers_per_sm").get<int>();
    l.max_threads_per_sm = json.at("max_threads_per_sm").get<int>();
    l.l2_bytes = json.at("l2_bytes").get<std::int64_t>();
    l.memory_bytes = json.at("memory_bytes").get<std::int64_t>();
    l.memory_bandwidth = json.at("memory_bandwidth").get<double>();
    l.driver_version = json.at("driver_version").get<int>();
    return l;
  } catch (const Json::exception& error) {
    throw Error(ExitCode::usage, std::string("not a description of a GPU: ") + error.what());
  }
}

std::string arch_for_compute_capability(int compute_capability) {
  const bool specific = compute_capability == 90 || compute_capability >= 100;
  return "sm_" + std::to_string(compute_capability) + (specific ? "a" : "");
}

int compute_capability_of_arch(const std::string& arch) {
  constexpr std::string_view prefix = "sm_";
  std::string_view rest = arch;
  int value = 0;
  if (rest.substr(0, prefix.size()) == prefix) {
    rest.remove_prefix(prefix.size());
    const char* end = std::from_chars(rest.data(), rest.data() + rest.size(), value).ptr;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
  if (value < 10 || value > 999 || !(rest.empty() || rest == "a" || rest == "f")) {
    throw Error(ExitCode::usage, "'" + arch + "' is not a target; write it like sm_90a");
  }
  return value;
}

GpuLimits limits_of_arch(const std::string& arch) {
  std::vector<std::string> names;
  for (const ArchRow& row : known) {
    names.emplace_back(row.arch);
    if (arch != row.arch) continue;
    GpuLimits l;
    l.name = arch;
    l.compute_capability = row.compute_capability;
    l.arch = arch;
    l.sm_count = row.sm_count;
    l.shared_memory_per_block_optin = row.shared_optin;
    l.shared_memory_per_sm = row.shared_per_sm;
    l.registers_per_sm = 65536;
    l.max_threads_per_sm = row.threads_per_sm;
    l.l2_bytes = static_cast<std::int64_t>(row.l2_mb) << 20;
    l.memory_bytes = static_cast<std::int64_t>(row.memory_gb) << 30;
    l.memory_bandwidth = row.bandwidth;
    return l;
  }
  throw Error(ExitCode::usage, "unknown target '" + arch + "'; known: " + join(names, ", "));
}

}  // namespace moetune
