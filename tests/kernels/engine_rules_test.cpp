#include <gtest/gtest.h>

#include "kernels/family.h"
#include "kernels/grouped_gemm.h"

namespace moetune {
namespace {

Workload layer(Dtype dtype) {
  Workload w;
  w.experts = 384;
  w.topk = 8;
  w.hidden = 7168;
  w.intermediate = 2048;
  w.tp = 4;
  w.dtype = dtype;
  if (dtype == Dtype::fp8_w8a8) {
    w.scales = Scales::block;
    w.block_shape = BlockShape{128, 128};
  }
  return w;
}

Config config(int m, int n, int k, int group, int warps, int stages) {
  return {{{"BLOCK_SIZE_M", m},
           {"BLOCK_SIZE_N", n},
           {"BLOCK_SIZE_K", k},
           {"GROUP_SIZE_M", group},
           {"num_warps", warps},
           {"num_stages", stages}}};
}

TEST(EngineDefault, BlockFp8) {
  const Workload w = layer(Dtype::fp8_w8a8);
  EXPECT_EQ(engine_default_config(w, 1), config(16, 64, 128, 1, 4, 4));
  EXPECT_EQ(engine_default_config(w, 8), config(16, 64, 128, 1, 4, 3));
  EXPECT_EQ(engine_default_config(w, 16), config(16, 128, 128, 1, 4, 3));
  EXPECT_EQ(engine_default_config(w, 64), config(16, 128, 128, 32, 4, 3));
  EXPECT_EQ(engine_default_config(w, 4096), config(64, 128, 128, 32, 4, 3));
}

TEST(EngineDefault, Bf16) {
  Workload w = layer(Dtype::bf16);
  w.experts = 8;
  EXPECT_EQ(engine_default_config(w, 1), config(16, 64, 128, 1, 4, 4));
  EXPECT_EQ(engine_default_config(w, 96), config(32, 128, 64, 1, 4, 3));
  EXPECT_EQ(engine_default_config(w, 512), config(64, 128, 64, 1, 8, 3));
  EXPECT_EQ(engine_default_config(w, 4096), config(128, 128, 64, 16, 8, 3));
}

TEST(EngineRefuses, BlockSizeM8OnlyForFp8OnHopperWithWideN) {
  Problem problem{layer(Dtype::fp8_w8a8), 1, limits_of_arch("sm_90a")};
  EXPECT_EQ(engine_refuses(problem, config(8, 64, 128, 1, 4, 3)), "");
  EXPECT_NE(engine_refuses(problem, config(8, 32, 128, 1, 4, 3)), "");
  problem.limits = limits_of_arch("sm_100a");
  EXPECT_NE(engine_refuses(problem, config(8, 64, 128, 1, 4, 3)), "");
  problem = {layer(Dtype::bf16), 1, limits_of_arch("sm_90a")};
  EXPECT_NE(engine_refuses(problem, config(8, 64, 128, 1, 4, 3)), "");
}

TEST(EngineRefuses, SharedMemoryWithTheComputedNeed) {
  Problem problem{layer(Dtype::fp8_w8a8), 1, limits_of_arch("sm_89")};
  const std::string reason = engine_refuses(problem, config(128, 256, 128, 32, 8, 4));
  EXPECT_NE(reason.find("196608"), std::string::npos) << reason;
  EXPECT_NE(reason.find("101376"), std::string::npos) << reason;
}

TEST(GroupedGemm, BlockBoundCoversWhatASortCanNeed) {
  const Workload w = layer(Dtype::fp8_w8a8);
  EXPECT_EQ(m_block_bound(w, 1, 16), 8);     // naive: a block a slot
  EXPECT_EQ(m_block_bound(w, 16, 16), 128);  // never more blocks than slots
  EXPECT_EQ(m_block_bound(w, 4096, 64), (32768 + 384 * 63 + 63) / 64);
}

TEST(GroupedGemm, RefusesWhatItCannotCompute) {
  Workload w = layer(Dtype::fp8_w8a8);
  const Family& f = family("grouped_gemm");
  EXPECT_EQ(f.unsupported(w, limits_of_arch("sm_90a")), "");
  GpuLimits old = limits_of_arch("sm_80");
  old.compute_capability = 75;
  EXPECT_NE(f.unsupported(w, old), "");
  w.hidden = 7160;
  EXPECT_NE(f.unsupported(w, limits_of_arch("sm_90a")), "");
}

TEST(GroupedGemm, PredictionPrefersSmallTilesForFewTokens) {
  const Problem problem{layer(Dtype::fp8_w8a8), 1, limits_of_arch("sm_90a")};
  const double small = predicted_us(problem, portable_plan(problem.workload, 1, config(16, 64, 128, 1, 4, 4)));
  const double large = predicted_us(problem, portable_plan(problem.workload, 1, config(256, 64, 128, 1, 8, 2)));
  EXPECT_GT(large, 3 * small);
}

}  // namespace
}  // namespace moetune
