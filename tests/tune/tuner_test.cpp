// The stages: which trials are made, in which order, and what reaches the finals.
#include "tune/tuner.h"

#include <gtest/gtest.h>

#include "tune/tuner_fixture.h"

namespace moetune {
namespace {

const Config fast = config_of(16, 128, 128, 1, 8, 4);
const Config second = config_of(16, 128, 128, 1, 8, 3);

TEST(Tuner, FastestConfigWinsBothRankings) {
  Scripted s;
  s.set(fast, 80);
  const TokenResult result = s.run_one();
  for (const Choice* choice : {&result.engine, &result.native}) {
    ASSERT_TRUE(choice->found);
    EXPECT_EQ(choice->winner.config, fast);
    EXPECT_FALSE(choice->is_baseline);
    EXPECT_DOUBLE_EQ(choice->winner.to_baseline.ratio, 0.8);
    EXPECT_EQ(choice->winner.plan, choice->finalists.front().plan);
    EXPECT_EQ(choice->finalists.size(), 5u);  // final_plans and the baseline
    EXPECT_EQ(choice->validation.outcome, Outcome::ok);
    EXPECT_EQ(choice->winner.time_us.samples, s.options.final_rounds);
  }
  EXPECT_TRUE(result.baseline_ran);
  EXPECT_EQ(result.engine.ranked_by, Quantity::rank);
  EXPECT_EQ(result.native.ranked_by, Quantity::op);
}

TEST(Tuner, CountsEveryPointOfTheSpaceOnce) {
  Scripted s;
  const TokenResult result = s.run_one();
  EXPECT_EQ(count_all(result), space_points);
  EXPECT_EQ(count_of(result, Outcome::ok), static_cast<int>(s.executor.validated.size()));
  EXPECT_GT(count_of(result, Outcome::constraints), 0);
  EXPECT_GT(count_of(result, Outcome::ok), 100);
}

TEST(Tuner, BaselineOutsideTheSpaceIsMeasuredButNotCounted) {
  Scripted s;
  s.workload.block_shape = BlockShape{96, 128};  // the engine then takes BLOCK_SIZE_N 96
  s.workload.intermediate = 4 * 384;
  const TokenResult result = s.run_one();
  EXPECT_EQ(result.baseline.at("BLOCK_SIZE_N"), 96);
  EXPECT_EQ(s.executor.validated.front(), result.baseline);
  EXPECT_EQ(count_all(result), space_points);
  EXPECT_TRUE(result.engine.is_baseline);
}

TEST(Tuner, BaselineGoesFirstThenPredictedTime) {
  Scripted s;
  s.run();
  const Problem problem{s.workload, 4096, fake_limits()};
  ASSERT_GT(s.executor.validated.size(), 2u);
  EXPECT_EQ(s.executor.validated.front(), s.baseline());
  double before = 0;
  for (std::size_t i = 1; i < s.executor.validated.size(); ++i) {
    const double predicted = predicted_us(problem, portable_plan(s.workload, 4096, s.executor.validated[i]));
    EXPECT_GE(predicted, before);
    before = predicted;
  }
}

TEST(Tuner, SlowPredictionsArePrunedAsResourcesButNeverTheBaseline) {
  Scripted all, pruned;
  pruned.options.prune_factor = 1.0;  // keeps the best prediction only, which the baseline's is not
  pruned.options.prune_keep = 0;
  pruned.options.tokens = all.options.tokens = {4096};
  const TokenResult without = all.run_one();
  const TokenResult with = pruned.run_one();
  EXPECT_LT(pruned.executor.validated.size(), 20u);
  EXPECT_EQ(pruned.executor.validated.front(), pruned.baseline());
  EXPECT_EQ(count_all(with), space_points);
  EXPECT_EQ(count_of(with, Outcome::resources) - count_of(without, Outcome::resources),
            count_of(without, Outcome::ok) - count_of(with, Outcome::ok));
  EXPECT_EQ(with.dropped.back().outcome, Outcome::resources);
  EXPECT_GT(with.dropped.back().count, 0);
}

TEST(Tuner, TheBestPredictionsStayWhateverTheFactor) {
  Scripted s;
  s.options.prune_factor = 1.0;
  s.options.prune_keep = 40;
  s.options.tokens = {4096};
  s.run();
  EXPECT_EQ(s.executor.validated.size(), 41u);  // and the baseline
}

TEST(Tuner, PrefetchesAllTokenCountsBeforePreparingTheFirst) {
  Scripted s;
  s.options.tokens = {1, 4096};
  std::size_t before_open = 0;
  s.executor.opening = [&](int) {
    if (before_open == 0) before_open = s.executor.prefetched.size();
    return Outcome::ok;
  };
  s.run();
  EXPECT_GT(before_open, 0u);
  EXPECT_EQ(before_open, s.executor.prefetched.size());
  const Problem problem{s.workload, 1, fake_limits()};
  const auto baseline = kernels_of(problem, portable_plan(s.workload, 1, s.baseline()));
  ASSERT_GE(s.executor.prefetched.size(), baseline.size());
  EXPECT_TRUE(std::equal(baseline.begin(), baseline.end(), s.executor.prefetched.begin()));
  EXPECT_EQ(s.executor.opened, (std::vector<int>{1, 4096}));
}

TEST(Tuner, ScreensStopEarlyAndStoppedOnesDoNotRace) {
  Scripted s;
  s.other_us = 301;  // above 3 x the baseline's 100
  s.set(fast, 299);
  const TokenResult result = s.run_one();
  const auto screens = s.executor.requests("screen", Quantity::rank);
  ASSERT_GT(screens.size(), 2u);
  EXPECT_EQ(screens[0].stop_above_us, 0);  // nothing to compare with yet
  EXPECT_DOUBLE_EQ(screens[1].stop_above_us, 300);
  EXPECT_EQ(screens[1].rounds, s.options.screen_rounds);
  const auto races = s.executor.requests("race", Quantity::rank);
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(races[0].plans.size(), 2u);
  EXPECT_TRUE(holds(races[0].plans, fast));
  EXPECT_TRUE(holds(races[0].plans, s.baseline()));
  EXPECT_GT(count_of(result, Outcome::ok), 100);  // stopped ones are slow, not failed
}

TEST(Tuner, ScreenRanksByMedianNotByOneSlowRound) {
  Scripted s;
  s.options.race_plans = 1;
  s.executor.time_us = [&](int tokens, const Config& config, Quantity, int round) {
    if (config == fast) return round == 1 ? 250.0 : 80.0;
    return s.time_of(tokens, config);
  };
  s.set(second, 100);
  s.run();
  EXPECT_TRUE(holds(s.executor.requests("race", Quantity::rank).at(0).plans, fast));
}

TEST(Tuner, RaceDecidesWhoReachesTheFinal) {
  Scripted s;
  s.options.final_plans = 1;
  s.set(second, 85);
  bool screened = false;
  s.executor.time_us = [&](int tokens, const Config& config, Quantity, int) {
    if (config == fast) {  // lucky in the screen only
      const double us = screened ? 90 : 80;
      return us;
    }
    return s.time_of(tokens, config);
  };
  s.hooks.progress = [&](const TuneProgress& progress) { screened = progress.stage != "screen"; };
  const TokenResult result = s.run_one();
  const auto race = s.executor.requests("race", Quantity::rank).at(0);
  EXPECT_EQ(race.plans.size(), 13u);  // race_plans and the baseline
  EXPECT_EQ(race.rounds, s.options.race_rounds);
  const auto engine_final = s.executor.requests("final", Quantity::rank).at(0);
  EXPECT_EQ(engine_final.plans.size(), 2u);
  EXPECT_TRUE(holds(engine_final.plans, second));
  EXPECT_TRUE(holds(engine_final.plans, s.baseline()));
  EXPECT_EQ(result.engine.winner.config, second);
}

TEST(Tuner, EngineFinalHoldsOnlyWhatTheEngineTakes) {
  Scripted s;
  s.workload = bf16_layer();
  s.options.race_plans = 4;
  s.executor.time_us = [&](int tokens, const Config& config, Quantity, int) {
    // Enough of them to fill the race; BLOCK_SIZE_M 8 needs fp8 in the engine.
    return config.at("BLOCK_SIZE_M") == 8 ? 50.0 + static_cast<double>(config.at("num_stages"))
                                          : s.time_of(tokens, config);
  };
  s.set(fast, 80);
  const TokenResult result = s.run_one();
  EXPECT_EQ(result.native.winner.config.at("BLOCK_SIZE_M"), 8);
  EXPECT_EQ(result.engine.winner.config, fast);
  const Problem problem{s.workload, 4096, fake_limits()};
  for (const Finalist& finalist : result.engine.finalists) EXPECT_EQ(engine_refuses(problem, finalist.config), "");
  EXPECT_EQ(result.engine.finalists.size(), 5u);
}

TEST(Tuner, RankingsUseTheirOwnQuantity) {
  Scripted s;
  s.executor.time_us = [&](int tokens, const Config& config, Quantity quantity, int) {
    if (config == fast) return quantity == Quantity::op ? 95.0 : 80.0;
    if (config == second) return quantity == Quantity::op ? 80.0 : 95.0;
    return s.time_of(tokens, config);
  };
  const TokenResult result = s.run_one();
  EXPECT_EQ(result.engine.winner.config, fast);
  EXPECT_EQ(result.native.winner.config, second);
}

TEST(Tuner, ReportsEachChosenPlanOncePerQuantity) {
  Scripted s;
  s.set(fast, 80);
  const TokenResult result = s.run_one();
  for (const Quantity quantity : {Quantity::gemm1, Quantity::gemm2, Quantity::pair, Quantity::op}) {
    const auto requests = s.executor.requests("report", quantity);
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_EQ(requests[0].plans.size(), 2u);  // both rankings chose the same plan; and the baseline
    EXPECT_EQ(requests[0].rounds, s.options.report_rounds);
  }
  const auto floors = s.executor.requests("report", Quantity::floor);
  ASSERT_EQ(floors.size(), 1u);
  EXPECT_TRUE(floors[0].plans.empty());
  for (const Summary& times : {result.engine_times.gemm1, result.engine_times.gemm2, result.engine_times.pair,
                               result.engine_times.op, result.native_times.pair}) {
    EXPECT_DOUBLE_EQ(times.median, 80);
  }
  EXPECT_DOUBLE_EQ(result.baseline_times.pair.median, 100);
  EXPECT_DOUBLE_EQ(result.floor_us.median, 10);
}

TEST(Tuner, StopsBetweenTrialsAndKeepsWhatIsDone) {
  Scripted s;
  s.options.tokens = {1, 2, 4};
  int done = 0;
  s.hooks.token_done = [&](const TokenResult&) { ++done; };
  s.hooks.interrupted = [&] { return s.executor.opened.size() == 2 && s.executor.validated.back() == fast; };
  const TuneResult result = s.run();
  EXPECT_TRUE(result.interrupted);
  ASSERT_EQ(result.tokens.size(), 1u);
  EXPECT_EQ(result.tokens[0].tokens, 1);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(s.executor.validated.back(), fast);
  EXPECT_EQ(s.executor.opened, (std::vector<int>{1, 2}));
  EXPECT_EQ(s.executor.measured.back().second.stage, "screen");
}

TEST(Tuner, StopsBeforePreparingATokenCount) {
  Scripted s;
  s.hooks.interrupted = [] { return true; };
  EXPECT_TRUE(s.run().interrupted);
  EXPECT_TRUE(s.executor.opened.empty());
}

TEST(Tuner, StopsInEveryStage) {
  for (const std::string stage : {"race", "final", "report"}) {
    Scripted s;
    std::string at;
    s.hooks.progress = [&](const TuneProgress& progress) { at = progress.stage; };
    s.hooks.interrupted = [&] { return at == stage; };
    const TuneResult result = s.run();
    EXPECT_TRUE(result.interrupted) << stage;
    EXPECT_TRUE(result.tokens.empty()) << stage;
    for (const auto& [tokens, request] : s.executor.measured) EXPECT_NE(request.stage, stage);
  }
}

// A replay must repeat a run: the same answers give the same requests and winners.
TEST(Tuner, SameAnswersGiveTheSameRequestsAndWinners) {
  std::vector<std::string> requests[2], winners[2];
  for (int i = 0; i < 2; ++i) {
    Scripted s;
    s.options.tokens = {2, 64};
    s.options.seed = 7;
    std::uint64_t state = 1;
    s.executor.time_us = [&](int, const Config&, Quantity, int) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return 100.0 + static_cast<double>(state >> 60);
    };
    for (const TokenResult& result : s.run().tokens) {
      for (const Choice* choice : {&result.engine, &result.native}) {
        winners[i].push_back(key_of(choice->winner.plan) + " " + std::to_string(choice->winner.to_baseline.band.low));
      }
    }
    for (const auto& [tokens, request] : s.executor.measured) requests[i].push_back(to_json(request).dump());
  }
  EXPECT_EQ(requests[0], requests[1]);
  EXPECT_EQ(winners[0], winners[1]);
}

TEST(Tuner, OrdersAreDrawnFromSeedTokenCountAndStage) {
  std::vector<std::uint64_t> seeds;
  for (const std::uint64_t seed : {1, 2}) {
    Scripted s;
    s.options.seed = seed;
    s.options.tokens = {1, 2};
    s.run();
    for (const char* stage : {"race", "final"}) {
      for (const MeasureRequest& request : s.executor.requests(stage, Quantity::rank)) seeds.push_back(request.seed);
    }
  }
  ASSERT_EQ(seeds.size(), 8u);
  std::sort(seeds.begin(), seeds.end());
  EXPECT_EQ(std::unique(seeds.begin(), seeds.end()), seeds.end());
}

TEST(Tuner, ProgressCoversAllStages) {
  Scripted s;
  std::vector<std::string> stages;
  TuneProgress last;
  s.hooks.progress = [&](const TuneProgress& progress) {
    if (stages.empty() || stages.back() != progress.stage) stages.push_back(progress.stage);
    EXPECT_LE(progress.done, progress.total);
    last = progress;
  };
  s.run();
  EXPECT_EQ(stages, (std::vector<std::string>{"screen", "race", "final", "report"}));
  EXPECT_EQ(last.done, last.total);
  EXPECT_DOUBLE_EQ(last.best_us, 100);
}

}  // namespace
}  // namespace moetune
