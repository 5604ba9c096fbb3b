#include "report/console.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/text.h"
#include "tune/tuner_fixture.h"

namespace moetune {
namespace {

using std::chrono::milliseconds;

Finalist finalist_of(const Config& config, double ratio) {
  Finalist finalist;
  finalist.config = config;
  finalist.plan = portable_plan(fp8_layer(), 64, config);
  finalist.to_baseline.ratio = ratio;
  finalist.tied = true;
  return finalist;
}

Choice choice_of(const Config& config, double ratio) {
  Choice choice;
  choice.found = true;
  choice.winner = finalist_of(config, ratio);
  choice.finalists = {choice.winner};
  return choice;
}

Summary us(double median) {
  Summary summary;
  summary.median = median;
  summary.samples = 1;
  return summary;
}

const Config tile = config_of(16, 64, 128, 1, 4, 4);

TokenResult result_of(const Config& engine, const Config& native) {
  TokenResult result;
  result.tokens = 64;
  result.problem.active_experts = 10;
  result.problem.slots = 512;
  result.outcomes = {{Outcome::ok, 812}, {Outcome::resources, 421}, {Outcome::wrong, 3}, {Outcome::crash, 0}};
  result.baseline_ran = true;
  result.engine = choice_of(engine, 0.8);
  result.native = choice_of(native, 0.5);
  result.engine_times.pair = us(80);
  result.native_times.pair = us(60);
  result.baseline_times.pair = us(100);
  result.floor_us = us(40);
  return result;
}

std::vector<std::string> lines_of(const TokenResult& result) {
  std::ostringstream out;
  print_token_row(out, fp8_layer(), result);
  std::vector<std::string> lines = split(out.str(), '\n');
  EXPECT_EQ(lines.back(), "");
  lines.pop_back();
  return lines;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Console, ShortForm) {
  EXPECT_EQ(short_form(tile), "16x64x128 g1 w4 s4");
  EXPECT_EQ(short_form({{{"split", 3}, {"rows", 8}}}), "split=3 rows=8");
}

TEST(Console, OutcomesOkFirstAndOnlyThoseThatHappened) {
  EXPECT_EQ(outcome_counts(result_of(tile, tile).outcomes), "812 ok, 421 resources, 3 wrong");
}

TEST(Console, RatesFollowFromBytesAndOperations) {
  const Workload w = fp8_layer();
  ProblemAnswer problem;
  problem.active_experts = 2;
  problem.slots = 3;
  const double expert_values = 3.0 * 512 * 7168;
  const double scales = expert_values / (128 * 128) * 4;
  EXPECT_DOUBLE_EQ(active_weight_bytes(w, problem), 2 * (expert_values + scales));
  EXPECT_DOUBLE_EQ(gemm_flops(w, problem), 2 * 3 * expert_values);
}

TEST(Console, OneLineWhenBothFilesHaveTheSameWinner) {
  const auto lines = lines_of(result_of(tile, tile));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].substr(0, 14), "    64  both  ");
  // 10 experts of 11.01 MB in 80 us; 2 * 512 * 3 * 512 * 7168 operations.
  for (const char* part : {"16x64x128 g1 w4 s4", "80.0", " 1377 ", "140.9", "40.0", "50%", "100.0", "1.25x",
                           "812 ok, 421 resources, 3 wrong"}) {
    EXPECT_TRUE(contains(lines[0], part)) << part << " in " << lines[0];
  }
}

TEST(Console, TwoLinesWhenTheWinnersDiffer) {
  const auto lines = lines_of(result_of(tile, config_of(8, 64, 128, 1, 4, 4)));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(contains(lines[0], "engine  16x64x128"));
  EXPECT_TRUE(contains(lines[0], "1.25x"));
  EXPECT_TRUE(contains(lines[1], "native  8x64x128"));
  EXPECT_TRUE(contains(lines[1], "2.00x"));
  EXPECT_TRUE(contains(lines[1], "60.0"));
  EXPECT_FALSE(contains(lines[1], "812"));
}

TEST(Console, ColumnsLineUpWithTheirHeads) {
  std::ostringstream out;
  print_token_header(out);
  const std::string head = out.str(), row = lines_of(result_of(tile, tile))[0];
  const auto end_of = [](const std::string& text, const std::string& part) { return text.find(part) + part.size(); };
  EXPECT_EQ(end_of(head, "tokens"), end_of(row, "64"));
  EXPECT_EQ(head.find("winner"), row.find("16x64"));
  EXPECT_EQ(end_of(head, "pair us"), end_of(row, "80.0"));
  EXPECT_EQ(end_of(head, "baseline us"), end_of(row, "100.0"));
  EXPECT_EQ(head.find("speed-up"), row.find("1.25x"));
  EXPECT_EQ(head.find("trials"), row.find("812 ok"));
}

TEST(Console, SpeedUpMarks) {
  TokenResult result = result_of(tile, tile);
  EXPECT_FALSE(contains(lines_of(result)[0], "~"));
  result.engine.finalists.push_back(finalist_of(config_of(16, 64, 128, 1, 4, 5), 0.8));
  EXPECT_TRUE(contains(lines_of(result)[0], "1.25x ~"));
  result.engine.is_baseline = true;
  EXPECT_TRUE(contains(lines_of(result)[0], "100.0  =  "));
  result.engine.is_baseline = false;
  result.baseline_ran = false;
  result.baseline_times = {};
  EXPECT_TRUE(contains(lines_of(result)[0], "  -  -  "));
}

TEST(Console, NoConfigRan) {
  TokenResult result = result_of(tile, tile);
  result.engine.found = result.native.found = false;
  EXPECT_EQ(lines_of(result)[0], "    64  no config ran: 812 ok, 421 resources, 3 wrong");
}

TuneProgress progress_of(const std::string& stage, int done, int total) {
  TuneProgress progress;
  progress.tokens = 16;
  progress.token_index = 1;
  progress.token_count = 4;
  progress.stage = stage;
  progress.done = done;
  progress.total = total;
  progress.best_us = 83.24;
  return progress;
}

TEST(Progress, FractionRisesThroughTheStages) {
  EXPECT_DOUBLE_EQ(fraction_done(progress_of("screen", 0, 100)), 0.25);
  EXPECT_LT(fraction_done(progress_of("screen", 50, 100)), fraction_done(progress_of("screen", 100, 100)));
  EXPECT_DOUBLE_EQ(fraction_done(progress_of("screen", 100, 100)), fraction_done(progress_of("race", 0, 1)));
  EXPECT_DOUBLE_EQ(fraction_done(progress_of("race", 1, 1)), fraction_done(progress_of("final", 0, 2)));
  EXPECT_DOUBLE_EQ(fraction_done(progress_of("final", 2, 2)), fraction_done(progress_of("report", 0, 5)));
  EXPECT_DOUBLE_EQ(fraction_done(progress_of("report", 5, 5)), 0.5);
  EXPECT_EQ(fraction_done(TuneProgress{}), 0);
}

TEST(Progress, ClockText) {
  EXPECT_EQ(clock_text(std::chrono::seconds(125)), "2:05");
  EXPECT_EQ(clock_text(std::chrono::seconds(3725)), "1:02:05");
}

TEST(Progress, TerminalRewritesOneLineAndTellsTheTimeLeft) {
  std::ostringstream out;
  milliseconds now{5000};
  ProgressPrinter printer(out, true, [&] { return now; });
  printer.print(progress_of("screen", 0, 100));  // a quarter done
  now += milliseconds(50);
  printer.print(progress_of("screen", 1, 100));  // too soon
  const std::string first = out.str();
  EXPECT_EQ(first.front(), '\r');
  EXPECT_TRUE(contains(first, " 25%  M 16 (2/4)  screen 0/100  best 83.2 us"));
  EXPECT_FALSE(contains(first, "screen 1/100"));
  now += milliseconds(59'950);
  printer.print(progress_of("screen", 0, 100));  // a minute for a quarter
  EXPECT_TRUE(contains(out.str(), "ETA 3:00"));
  EXPECT_FALSE(contains(out.str(), "\n"));
}

TEST(Progress, ShorterLineCoversTheLongerOne) {
  std::ostringstream out;
  milliseconds now{0};
  ProgressPrinter printer(out, true, [&] { return now; });
  printer.print(progress_of("screen", 1000, 2000));
  const std::size_t longer = out.str().size();
  now += milliseconds(200);
  printer.print(progress_of("race", 0, 1));
  EXPECT_EQ(out.str().size(), 2 * longer);
  printer.clear();
  EXPECT_EQ(out.str().back(), '\r');
  const std::size_t cleared = out.str().size();
  printer.clear();
  EXPECT_EQ(out.str().size(), cleared);
}

TEST(Progress, PipeGetsALineEveryTenSeconds) {
  std::ostringstream out;
  milliseconds now{0};
  ProgressPrinter printer(out, false, [&] { return now; });
  for (int second = 0; second < 35; ++second) {
    now = milliseconds(1000 * second);
    printer.print(progress_of("screen", second, 100));
  }
  printer.clear();
  const auto lines = split(out.str(), '\n');
  ASSERT_EQ(lines.size(), 4u);  // at 10, 20 and 30 s, and what follows the last
  EXPECT_TRUE(contains(lines[0], "screen 10/100"));
  EXPECT_TRUE(contains(lines[2], "screen 30/100"));
  EXPECT_FALSE(contains(out.str(), "\r"));
}

}  // namespace
}  // namespace moetune
