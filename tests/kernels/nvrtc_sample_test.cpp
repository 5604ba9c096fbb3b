// Compiles a sample of every kernel for every target, without a GPU.
#include <gtest/gtest.h>

#include <set>

#include "jit/compile.h"
#include "jit/nvrtc.h"
#include "kernels/family.h"
#include "kernels/reference.h"
#include "space/space.h"

namespace moetune {
namespace {

Workload layer(Dtype dtype, Scales scales) {
  Workload w;
  w.experts = 64;
  w.topk = 8;
  w.hidden = 2048;
  w.intermediate = 512;
  w.dtype = dtype;
  w.scales = scales;
  if (scales == Scales::block) w.block_shape = BlockShape{128, 128};
  return w;
}

// Every `stride`-th candidate of the space for this GPU.
std::vector<Config> sample(const Problem& problem, std::size_t stride) {
  const Enumeration all = enumerate(load_space("grouped_gemm"), variables_of(problem));
  std::vector<Config> picked;
  for (std::size_t i = stride / 2; i < all.candidates.size(); i += stride) picked.push_back(all.candidates[i]);
  return picked;
}

class NvrtcSample : public testing::TestWithParam<const char*> {};

TEST_P(NvrtcSample, CompilesWithoutHeavySpills) {
  const std::string arch = GetParam();
  if (!find_nvrtc()) GTEST_SKIP() << "no NVRTC";
  if (!nvrtc_supports(arch)) GTEST_SKIP() << "this NVRTC lacks " << arch;
  const GpuLimits limits = limits_of_arch(arch);
  std::set<std::string> seen;
  for (const auto& [dtype, scales, stride] :
       {std::tuple{Dtype::fp8_w8a8, Scales::block, 180u}, std::tuple{Dtype::fp8_w8a8, Scales::channel, 500u},
        std::tuple{Dtype::fp8_w8a8, Scales::tensor, 700u}, std::tuple{Dtype::bf16, Scales::none, 250u},
        std::tuple{Dtype::fp16, Scales::none, 600u}}) {
    const Problem problem{layer(dtype, scales), 128, limits};
    for (const Config& config : sample(problem, stride)) {
      for (const KernelSource& source : kernels_of(problem, portable_plan(problem.workload, 128, config))) {
        if (!seen.insert(source.key()).second) continue;
        const CompileResult result = compile(source, arch);
        EXPECT_TRUE(result.ok) << source.expression << " for " << arch << "\n" << result.log;
        EXPECT_GT(result.registers, 0) << source.expression;
        EXPECT_LE(result.spill_bytes, 256) << source.expression;
      }
    }
  }
  EXPECT_GT(seen.size(), 8u);
}

INSTANTIATE_TEST_SUITE_P(Targets, NvrtcSample, testing::Values("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"),
                         [](const auto& target) { return std::string(target.param); });

}  // namespace
}  // namespace moetune
