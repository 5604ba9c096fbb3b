#include "kernels/plan.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "kernels/family.h"

namespace moetune {
namespace {

Config config() {
  return {{{"BLOCK_SIZE_M", 16},
           {"BLOCK_SIZE_N", 64},
           {"BLOCK_SIZE_K", 128},
           {"GROUP_SIZE_M", 1},
           {"num_warps", 4},
           {"num_stages", 3}}};
}

Workload kimi() {
  Workload w;
  w.model = "kimi-k2";
  w.experts = 384;
  w.topk = 8;
  w.hidden = 7168;
  w.intermediate = 2048;
  w.tp = 4;
  w.dtype = Dtype::fp8_w8a8;
  w.scales = Scales::block;
  w.block_shape = BlockShape{128, 128};
  return w;
}

TEST(Plan, KeyWritesEqualConfigsOnceAndSkipsUntunedSteps) {
  const Plan plan = portable_plan(kimi(), 64, config());
  EXPECT_EQ(key_of(plan),
            "sort_slots(sort)BLOCK_SIZE_M=16;grouped_gemm(gemm1,gemm2)BLOCK_SIZE_M=16,BLOCK_SIZE_N=64,BLOCK_SIZE_K=128,"
            "GROUP_SIZE_M=1,num_warps=4,num_stages=3");
}

TEST(Plan, FewTokensNeedNoSort) {
  const auto sorts = [](const Plan& plan) {
    for (const PlanStep& step : plan.steps) {
      if (step.steps.front() == Step::sort) return true;
    }
    return false;
  };
  EXPECT_FALSE(sorts(portable_plan(kimi(), 12, config())));
  EXPECT_TRUE(sorts(portable_plan(kimi(), 13, config())));
  Workload spread = kimi();
  spread.ep = 4;
  EXPECT_TRUE(sorts(portable_plan(spread, 1, config())));
}

TEST(Plan, Fp8StartsWithQuantisingAndBf16DoesNot) {
  EXPECT_EQ(portable_plan(kimi(), 1, config()).steps.front().steps.front(), Step::quantise);
  Workload plain = kimi();
  plain.dtype = Dtype::bf16;
  plain.scales = Scales::none;
  plain.block_shape.reset();
  EXPECT_EQ(portable_plan(plain, 1, config()).steps.front().steps.front(), Step::gemm1);
}

TEST(Plan, JsonRoundTrip) {
  const Plan plan = portable_plan(kimi(), 64, config());
  EXPECT_EQ(plan_from_json(to_json(plan)), plan);
}

TEST(Plan, BrokenJsonIsAUsageError) {
  for (const char* text :
       {"3", "[3]", R"([{"steps":["gemm9"],"family":"x"}])", R"([{"steps":[1],"family":"x"}])", R"([{"family":"x"}])",
        R"([{"steps":[],"family":"x"}])", R"([{"steps":["gemm1"],"family":3}])"}) {
    EXPECT_THROW(plan_from_json(Json::parse(text)), Error) << text;
  }
}

TEST(Family, UnknownNameNamesTheNearest) {
  try {
    family("grouped_gem");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("grouped_gemm"), std::string::npos);
  }
}

}  // namespace
}  // namespace moetune
