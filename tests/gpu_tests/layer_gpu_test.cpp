// Whole plans through LayerBench: right on every shape, wrong when they should be, timed in every quantity.
#include "gpu_tests/gpu_fixture.h"
#include "kernels/family.h"
#include "measure/layer_bench.h"
#include "space/space.h"

namespace moetune {
namespace {

class LayerGpu : public GpuTest {
 protected:
  void check(const Workload& w, const std::vector<int>& token_counts, std::size_t stride) {
    LayerBench bench(*device, w, {}, 1);
    for (const int tokens : token_counts) {
      ASSERT_EQ(bench.open(tokens).outcome, Outcome::ok);
      const Problem problem{w, tokens, device->limits()};
      const Enumeration all = enumerate(load_space("grouped_gemm"), variables_of(problem));
      ASSERT_FALSE(all.candidates.empty());
      // The same configs at every token count: compiling is most of the test's time.
      for (std::size_t i = stride / 3; i < all.candidates.size(); i += stride) {
        const ValidateAnswer answer = bench.validate(portable_plan(w, tokens, all.candidates[i]));
        EXPECT_EQ(answer.outcome, Outcome::ok)
            << key_of(all.candidates[i]) << " tokens " << tokens << ": " << answer.log;
        worst_ = std::max(worst_, answer.rel_err);
        worst_token_ = std::max(worst_token_, answer.worst_token_err);
      }
    }
    RecordProperty("worst_rel_err", std::to_string(worst_));
    RecordProperty("worst_token_err", std::to_string(worst_token_));
    printf("  worst relative error %.3g, worst token %.3g\n", worst_, worst_token_);
  }
  double worst_ = 0, worst_token_ = 0;
};

const std::vector<int> token_counts = {1, 3, 17, 83, 256};

TEST_F(LayerGpu, Fp8Block) { check(small_layer(Dtype::fp8_w8a8, Scales::block), token_counts, 71); }
TEST_F(LayerGpu, Fp8Channel) { check(small_layer(Dtype::fp8_w8a8, Scales::channel), token_counts, 127); }
TEST_F(LayerGpu, Fp8Tensor) { check(small_layer(Dtype::fp8_w8a8, Scales::tensor), token_counts, 127); }
TEST_F(LayerGpu, Bf16) { check(small_layer(Dtype::bf16, Scales::none), token_counts, 71); }
TEST_F(LayerGpu, Fp16) { check(small_layer(Dtype::fp16, Scales::none), token_counts, 127); }
TEST_F(LayerGpu, NaiveSortOfManyExperts) { check(small_layer(Dtype::fp8_w8a8, Scales::block, 128, 8), {1, 4}, 71); }
TEST_F(LayerGpu, TailsOfNAndK) {
  check(small_layer(Dtype::bf16, Scales::none, 8, 2, 208, 72), {5, 40}, 71);
  check(small_layer(Dtype::fp8_w8a8, Scales::channel, 8, 2, 208, 80), {5, 40}, 127);
}
TEST_F(LayerGpu, TopkOneAndSixteen) {
  check(small_layer(Dtype::bf16, Scales::none, 16, 1), {7, 64}, 127);
  check(small_layer(Dtype::fp8_w8a8, Scales::block, 16, 16), {7, 64}, 127);
}
TEST_F(LayerGpu, ExpertParallelSkipsOtherRanks) {
  Workload w = small_layer(Dtype::fp8_w8a8, Scales::block, 32, 8);
  w.tp = w.ep = 4;
  check(w, {1, 17, 256}, 127);
}
TEST_F(LayerGpu, ManyTokens) { check(small_layer(Dtype::fp8_w8a8, Scales::block, 4, 2), {1335}, 127); }

TEST_F(LayerGpu, APlanOfAnotherShapeIsWrongNotOk) {
  // A kernel bound for 8 tokens on 64-token inputs leaves most outputs unwritten: poison must show.
  const Workload w = small_layer(Dtype::bf16, Scales::none);
  LayerBench bench(*device, w, {}, 1);
  ASSERT_EQ(bench.open(64).outcome, Outcome::ok);
  Plan plan = portable_plan(w, 64, engine_default_config(w, 64));
  plan.steps.erase(plan.steps.begin() + 2);  // no activation: gemm2 reads poison
  EXPECT_EQ(bench.validate(plan).outcome, Outcome::wrong);
}

TEST_F(LayerGpu, EveryQuantityIsTimed) {
  const Workload w = small_layer(Dtype::fp8_w8a8, Scales::block);
  LayerBench bench(*device, w, {}, 1);
  const ProblemAnswer problem = bench.open(64);
  EXPECT_GE(problem.l2_ratio, 0);
  const Plan plan = portable_plan(w, 64, engine_default_config(w, 64));
  for (const Quantity quantity : {Quantity::rank, Quantity::gemm1, Quantity::gemm2, Quantity::pair, Quantity::op}) {
    const MeasureAnswer answer = bench.measure({quantity, {plan, plan}, 5, 0, 1, "test"});
    ASSERT_EQ(answer.outcome, Outcome::ok);
    ASSERT_EQ(answer.samples_us.size(), 2u);
    ASSERT_EQ(answer.samples_us[0].size(), 5u);
    EXPECT_GT(answer.samples_us[0][0], 0.1);
  }
  EXPECT_EQ(bench.measure({Quantity::floor, {}, 3, 0, 1, "test"}).samples_us.at(0).size(), 3u);
}

}  // namespace
}  // namespace moetune
