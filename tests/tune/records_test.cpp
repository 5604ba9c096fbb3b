#include "tune/records.h"

#include <gtest/gtest.h>

#include "kernels/family.h"

namespace moetune {
namespace {

Workload mixtral() {
  Workload w;
  w.model = "mixtral-8x7b";
  w.experts = 8;
  w.topk = 2;
  w.hidden = 4096;
  w.intermediate = 14336;
  w.tp = 2;
  return w;
}

Config config(std::int64_t block_m) {
  return {{{"BLOCK_SIZE_M", block_m},
           {"BLOCK_SIZE_N", 64},
           {"BLOCK_SIZE_K", 64},
           {"GROUP_SIZE_M", 1},
           {"num_warps", 4},
           {"num_stages", 3}}};
}

Finalist finalist(std::int64_t block_m, double us, bool tied) {
  Finalist f;
  f.config = config(block_m);
  f.plan = portable_plan(mixtral(), 64, f.config);
  f.time_us = {us, us - 0.5, us + 0.5, us - 1, 0.0123456, 25};
  f.to_baseline = {0.5, {0.49, 0.51}};
  f.to_best = {1.001, {0.99, 1.011}};
  f.tied = tied;
  return f;
}

TokenResult token_result() {
  TokenResult token;
  token.tokens = 64;
  token.problem.outcome = Outcome::ok;
  token.problem.l2_ratio = 2.5;
  token.problem.load_histogram = {0, 1, 2};
  token.outcomes = {{Outcome::ok, 100}, {Outcome::wrong, 1}};
  token.dropped = {{"stages fit shared memory", Outcome::resources, 40}};
  token.baseline = config(32);
  token.baseline_ran = true;
  token.engine.found = true;
  token.engine.winner = finalist(16, 28.3471, true);
  token.engine.finalists = {token.engine.winner, finalist(64, 28.4, true), finalist(128, 60, false)};
  token.engine.validation.outcome = Outcome::ok;
  token.engine.validation.rel_err = 0.001;
  token.native.ranked_by = Quantity::op;
  token.engine_times.gemm1 = {20, 19, 21, 18, 0.01, 11};
  token.baseline_times.gemm1 = {40, 39, 41, 38, 0.01, 11};
  token.floor_us = {10, 9, 11, 8, 0.01, 11};
  token.largest_error_plan = "grouped_gemm(gemm1)x";
  token.largest_error = 1.5;
  return token;
}

RecordContext context() {
  RecordContext context;
  context.run.device.name = "NVIDIA H200";
  context.run.environment = {{"driver", "13.0"}};
  context.run.workload = mixtral();
  context.run.seed = 7;
  context.run.kernel_digests = {{"grouped_gemm", "aa"}};
  context.run.command_line = "moetune --model mixtral-8x7b";
  context.tuning_wall_s = 301.26;
  return context;
}

TEST(Records, EngineRecordSaysWhatWasMeasured) {
  TokenResult second = token_result();
  second.tokens = 128;
  second.problem.l2_ratio = 2.25;
  const Json record = engine_record(context(), {token_result(), second});
  EXPECT_EQ(record["format"], "moetune.record/1");
  EXPECT_EQ(record["target"], "native");
  EXPECT_EQ(record["kernel_origin"], "moetune's own kernels; an engine's Triton kernel may rank configs differently");
  EXPECT_EQ(record["device"]["name"], "NVIDIA H200");
  EXPECT_EQ(record["environment"]["driver"], "13.0");
  EXPECT_EQ(record["kernel_digests"]["grouped_gemm"], "aa");
  EXPECT_EQ(record["routing"]["kind"], "uniform");
  EXPECT_EQ(record["seed"], 7);
  EXPECT_EQ(record["tuning_wall_s"], 301.3);
  EXPECT_EQ(record["outcomes"], (Json{{"ok", 200}, {"wrong", 2}}));
  EXPECT_EQ(record["l2_ratio"], 2.25);

  const Json& token = record["tokens"]["64"];
  const Json& winner = token["winner"];
  EXPECT_EQ(winner["config"], to_json(config(16)));
  EXPECT_FALSE(winner.contains("plan"));
  EXPECT_EQ(winner["time_us"].dump(), R"({"median":28.347,"p10":27.847,"p90":28.847,"cv":0.0123,"samples":25})");
  EXPECT_EQ(winner["to_baseline"].dump(), R"({"ratio":0.5,"band":[0.49,0.51]})");
  EXPECT_EQ(winner["ranked_by"], "rank");
  EXPECT_EQ(winner["gemm1_us"]["median"], 20);
  EXPECT_FALSE(winner.contains("op_us"));  // not measured
  EXPECT_EQ(winner["validation"]["rel_err"], 0.001);
  EXPECT_FALSE(winner["accumulate"].get<std::string>().empty());
  EXPECT_TRUE(winner["deterministic"].get<bool>());
  ASSERT_EQ(token["ties"].size(), 1u);
  EXPECT_EQ(token["ties"][0]["config"], to_json(config(64)));
  EXPECT_EQ(token["baseline"]["config"], to_json(config(32)));
  EXPECT_EQ(token["baseline"]["gemm1_us"]["median"], 40);
  EXPECT_EQ(token["floor_us"]["median"], 10);
  EXPECT_EQ(token["dropped"][0]["count"], 40);
  EXPECT_EQ(token["wrong"]["rel_err"], 1.5);
}

TEST(Records, NativeRecordHoldsPlansAndSaysWhenThereIsNoWinner) {
  TokenResult token = token_result();
  EXPECT_EQ(native_record(context(), {token})["tokens"]["64"]["winner"], nullptr);
  token.native = token.engine;
  token.native.ranked_by = Quantity::op;
  const Json record = native_record(context(), {token});
  EXPECT_EQ(record["kernel_origin"], "moetune's own kernels");
  const Json& winner = record["tokens"]["64"]["winner"];
  EXPECT_EQ(winner["plan"], to_json(token.native.winner.plan));
  EXPECT_EQ(winner["ranked_by"], "op");
  EXPECT_FALSE(winner.contains("config"));
}

}  // namespace
}  // namespace moetune
