// The winner rule, on whole runs and on samples.
#include "tune/winner.h"

#include <gtest/gtest.h>

#include "tune/tuner_fixture.h"

namespace moetune {
namespace {

// The tile of shared memory that a config needs grows with its stages.
const Config lean = config_of(16, 128, 128, 1, 8, 3), rich = config_of(16, 128, 128, 1, 8, 5);

FinalEntry entry_of(const Config& config, std::vector<double> samples, bool is_baseline = false) {
  FinalEntry entry;
  entry.plan = portable_plan(fp8_layer(), 64, config);
  entry.config = config;
  entry.validation.outcome = Outcome::ok;
  entry.is_baseline = is_baseline;
  entry.samples_us = std::move(samples);
  return entry;
}

std::vector<double> constant(double us) { return std::vector<double>(25, us); }

const FinalEntry baseline = entry_of(config_of(16, 128, 128, 32, 4, 3), constant(100), true);

Choice choose_of(const std::vector<FinalEntry>& entries, const Config* neighbour = nullptr) {
  return choose(entries, Quantity::rank, neighbour, 1);
}

TEST(Winner, NothingToChooseFrom) { EXPECT_FALSE(choose_of({}).found); }

TEST(Winner, BaselineStaysWhenItIsFastest) {
  Scripted s;
  s.set(rich, 110);
  const TokenResult result = s.run_one();
  for (const Choice* choice : {&result.engine, &result.native}) {
    EXPECT_TRUE(choice->is_baseline);
    EXPECT_EQ(choice->winner.config, s.baseline());
    EXPECT_DOUBLE_EQ(choice->winner.to_baseline.ratio, 1);
  }
}

TEST(Winner, BaselineStaysUnlessBeatenBeyondTheBand) {
  EXPECT_TRUE(choose_of({entry_of(rich, constant(99.5)), baseline}).is_baseline);
  EXPECT_FALSE(choose_of({entry_of(rich, constant(98.5)), baseline}).is_baseline);
  // 5 % faster at the median, but not beyond what the samples scatter.
  std::vector<double> scattered = constant(95);
  for (std::size_t i = 0; i < 12; ++i) scattered[i] = 105;
  const Choice choice = choose_of({entry_of(rich, scattered), baseline});
  EXPECT_TRUE(choice.is_baseline);
  EXPECT_EQ(choice.finalists.front().config, rich);
}

TEST(Winner, SimplestOfTheTied) {
  const Choice choice = choose_of({entry_of(rich, constant(80)), entry_of(lean, constant(80.5)), baseline});
  EXPECT_EQ(choice.winner.config, lean);
  EXPECT_EQ(choice.finalists[0].config, rich);
  EXPECT_TRUE(choice.finalists[0].tied);
  EXPECT_TRUE(choice.finalists[1].tied);
  EXPECT_FALSE(choice.finalists[2].tied);
}

TEST(Winner, SimplerButSlowerBeyondTheBandLoses) {
  const Choice choice = choose_of({entry_of(rich, constant(80)), entry_of(lean, constant(82)), baseline});
  EXPECT_EQ(choice.winner.config, rich);
}

TEST(Winner, TiedOneThatDoesNotBeatTheBaselineIsPassedOver) {
  std::vector<double> scattered = constant(99.5);  // tied with 98 by its scatter, and with the baseline's 100
  for (std::size_t i = 0; i < 12; ++i) scattered[i] = 97;
  const Choice choice = choose_of({entry_of(rich, constant(98)), entry_of(lean, scattered), baseline});
  ASSERT_TRUE(choice.finalists[1].tied);
  EXPECT_EQ(choice.finalists[1].config, lean);
  EXPECT_EQ(choice.winner.config, rich);
  EXPECT_FALSE(choice.is_baseline);
}

TEST(Winner, FewerWarpsAtTheSameSharedMemory) {
  const Config four = config_of(16, 128, 128, 16, 4, 3);
  const Choice choice = choose_of({entry_of(lean, constant(80)), entry_of(four, constant(80.5)), baseline});
  EXPECT_EQ(choice.winner.config, four);
}

TEST(Winner, NeighbourThenKeySettleWhatIsEquallySimple) {
  const Config one = config_of(16, 128, 128, 1, 4, 4), sixteen = config_of(16, 128, 128, 16, 4, 4);
  const std::vector<FinalEntry> entries = {entry_of(sixteen, constant(80)), entry_of(one, constant(80.1)), baseline};
  EXPECT_EQ(choose_of(entries).winner.config, one);
  EXPECT_EQ(choose_of(entries, &sixteen).winner.config, sixteen);
  EXPECT_EQ(choose_of(entries, &rich).winner.config, one);
}

TEST(Winner, SimplicityGoesBeforeTheNeighbour) {
  const std::vector<FinalEntry> entries = {entry_of(rich, constant(80)), entry_of(lean, constant(80)), baseline};
  EXPECT_EQ(choose_of(entries, &rich).winner.config, lean);
}

TEST(Winner, NeighbourIsThePreviousTokenCountsWinner) {
  const Config one = config_of(16, 128, 128, 1, 4, 4), sixteen = config_of(16, 128, 128, 16, 4, 4);
  for (const bool with_neighbour : {false, true}) {
    Scripted s;
    s.options.tokens = with_neighbour ? std::vector<int>{3072, 4096} : std::vector<int>{4096};
    s.executor.time_us = [&](int tokens, const Config& config, Quantity, int) {
      if (config == one) return tokens == 3072 ? 90.0 : 80.0;
      return config == sixteen ? 80.0 : s.time_of(tokens, config);
    };
    const TokenResult result = s.run().tokens.back();
    EXPECT_EQ(result.engine.winner.config, with_neighbour ? sixteen : one);
    EXPECT_EQ(result.native.winner.config, with_neighbour ? sixteen : one);
  }
}

TEST(Winner, WithoutABaselineTheRuleStillHolds) {
  Scripted s;
  s.set(rich, 80);
  s.executor.validation = [&](const Config& config) {
    return FakeExecutor::valid(0.5, config == s.baseline() ? Outcome::wrong : Outcome::ok);
  };
  const TokenResult result = s.run_one();
  EXPECT_FALSE(result.baseline_ran);
  ASSERT_TRUE(result.engine.found);
  EXPECT_EQ(result.engine.winner.config, rich);
  EXPECT_FALSE(result.engine.is_baseline);
  EXPECT_EQ(result.engine.winner.to_baseline.ratio, 1);
  EXPECT_EQ(result.baseline_times.pair.samples, 0);
  EXPECT_EQ(result.engine.finalists.size(), 4u);
}

TEST(Winner, ValidationIsTheWinners) {
  FinalEntry fast = entry_of(rich, constant(80));
  fast.validation.rel_err = 0.25;
  EXPECT_EQ(choose_of({fast, baseline}).validation.rel_err, 0.25);
}

TEST(Winner, PlansMeasuredAloneMayHaveFewerSamples) {
  const Choice choice = choose_of({entry_of(rich, {80, 80, 80}), baseline});
  EXPECT_EQ(choice.winner.config, rich);
  EXPECT_DOUBLE_EQ(choice.finalists[0].to_baseline.ratio, 0.8);
  EXPECT_DOUBLE_EQ(choice.finalists[1].to_best.ratio, 1.25);
}

}  // namespace
}  // namespace moetune
