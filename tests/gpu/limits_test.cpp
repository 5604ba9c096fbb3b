#include "gpu/limits.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace moetune {
namespace {

std::string usage_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

const std::vector<std::string> known = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a"};

TEST(Limits, EveryFieldSurvivesJson) {
  GpuLimits l;
  l.name = "NVIDIA H200";
  l.compute_capability = 90;
  l.arch = "sm_90a";
  l.sm_count = 132;
  l.shared_memory_per_block_optin = 232448;
  l.shared_memory_per_sm = 233472;
  l.registers_per_sm = 65536;
  l.max_threads_per_sm = 2048;
  l.l2_bytes = 62914560;
  l.memory_bytes = 150754820096;  // more than 32 bits
  l.memory_bandwidth = 4.814592e12;
  l.driver_version = 13000;
  const GpuLimits back = gpu_limits_from_json(Json::parse(to_json(l).dump()));
  EXPECT_EQ(back.name, l.name);
  EXPECT_EQ(back.compute_capability, l.compute_capability);
  EXPECT_EQ(back.arch, l.arch);
  EXPECT_EQ(back.sm_count, l.sm_count);
  EXPECT_EQ(back.shared_memory_per_block_optin, l.shared_memory_per_block_optin);
  EXPECT_EQ(back.shared_memory_per_sm, l.shared_memory_per_sm);
  EXPECT_EQ(back.registers_per_sm, l.registers_per_sm);
  EXPECT_EQ(back.max_threads_per_sm, l.max_threads_per_sm);
  EXPECT_EQ(back.l2_bytes, l.l2_bytes);
  EXPECT_EQ(back.memory_bytes, l.memory_bytes);
  EXPECT_EQ(back.memory_bandwidth, l.memory_bandwidth);
  EXPECT_EQ(back.driver_version, l.driver_version);
}

TEST(Limits, JsonThatDescribesNoGpuNamesWhatIsMissing) {
  Json json = to_json(limits_of_arch("sm_90a"));
  json.erase("sm_count");
  EXPECT_NE(usage_error([&] { gpu_limits_from_json(json); }).find("sm_count"), std::string::npos);
  json["sm_count"] = "many";
  usage_error([&] { gpu_limits_from_json(json); });
  usage_error([] { gpu_limits_from_json(Json::array()); });
}

TEST(Limits, ArchHasEveryInstructionOfTheChip) {
  EXPECT_EQ(arch_for_compute_capability(80), "sm_80");
  EXPECT_EQ(arch_for_compute_capability(86), "sm_86");
  EXPECT_EQ(arch_for_compute_capability(89), "sm_89");
  EXPECT_EQ(arch_for_compute_capability(90), "sm_90a");
  EXPECT_EQ(arch_for_compute_capability(100), "sm_100a");
  EXPECT_EQ(arch_for_compute_capability(103), "sm_103a");
  EXPECT_EQ(arch_for_compute_capability(110), "sm_110a");
  EXPECT_EQ(arch_for_compute_capability(120), "sm_120a");
  EXPECT_EQ(arch_for_compute_capability(121), "sm_121a");
}

TEST(Limits, ComputeCapabilityOfArch) {
  for (const int capability : {80, 86, 89, 90, 100, 103, 110, 120, 121}) {
    EXPECT_EQ(compute_capability_of_arch(arch_for_compute_capability(capability)), capability);
  }
  EXPECT_EQ(compute_capability_of_arch("sm_90"), 90);
  EXPECT_EQ(compute_capability_of_arch("sm_100f"), 100);
}

TEST(Limits, MalformedArchIsAnErrorThatShowsIt) {
  for (const std::string arch : {"", "sm_", "90a", "sm90a", "compute_90", "sm_9", "sm_90b", "sm_90a ", "sm_ 90",
                                 "sm_+90", "sm_-90", "sm_1000", "sm_99999999999", "SM_90"}) {
    const std::string message = usage_error([&] { compute_capability_of_arch(arch); });
    EXPECT_EQ(message.find(arch, 1), 1u) << message;  // in quotes
  }
}

TEST(Limits, GpusThatAreNotThere) {
  for (const std::string& arch : known) {
    const GpuLimits l = limits_of_arch(arch);
    EXPECT_EQ(l.name, arch);
    EXPECT_EQ(l.arch, arch);
    EXPECT_EQ(arch_for_compute_capability(l.compute_capability), arch);
    EXPECT_EQ(l.registers_per_sm, 65536);
    // The driver keeps 1 KiB of an SM's shared memory a block.
    EXPECT_EQ(l.shared_memory_per_sm - l.shared_memory_per_block_optin, 1024) << arch;
    EXPECT_GT(l.sm_count, 0);
    EXPECT_GE(l.l2_bytes, std::int64_t{4} << 20);
    EXPECT_GE(l.memory_bytes, std::int64_t{16} << 30);
    EXPECT_GT(l.memory_bandwidth, 1e11);
    EXPECT_EQ(l.driver_version, 0);
  }
  EXPECT_EQ(limits_of_arch("sm_80").shared_memory_per_block_optin, 166912);
  EXPECT_EQ(limits_of_arch("sm_89").shared_memory_per_block_optin, 101376);
  EXPECT_EQ(limits_of_arch("sm_90a").shared_memory_per_block_optin, 232448);
  EXPECT_EQ(limits_of_arch("sm_120a").shared_memory_per_block_optin, 101376);
  EXPECT_EQ(limits_of_arch("sm_89").max_threads_per_sm, 1536);
  EXPECT_EQ(limits_of_arch("sm_100a").max_threads_per_sm, 2048);
}

TEST(Limits, UnknownArchListsTheKnownOnes) {
  const std::string message = usage_error([] { limits_of_arch("sm_70"); });
  EXPECT_NE(message.find("sm_70"), std::string::npos);
  for (const std::string& arch : known) EXPECT_NE(message.find(arch), std::string::npos) << message;
}

}  // namespace
}  // namespace moetune
