#include "measure/rotation.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace moetune {
namespace {

constexpr std::int64_t bytes = 100;  // of one expert

std::vector<Routing> calls(const std::vector<std::vector<std::int32_t>>& ids) {
  std::vector<Routing> routings;
  for (const auto& call : ids) routings.push_back({call, std::vector<float>(call.size(), 0.5f)});
  return routings;
}

std::int64_t distance(const std::vector<std::vector<std::int32_t>>& ids, int weight_sets) {
  return smallest_reuse_distance(calls(ids), weight_sets, bytes, 4);
}

TEST(ReuseDistance, OneExpertAgainAndAgainIsNeverCold) {
  EXPECT_EQ(distance({{2}}, 1), 0);
  EXPECT_EQ(distance({{2, 2, 2}}, 1), 0);
}

TEST(ReuseDistance, OtherExpertsLieBetween) {
  EXPECT_EQ(distance({{0, 1, 2, 3}}, 1), 3 * bytes);     // the three others, on every replay
  EXPECT_EQ(distance({{3, 1, 1, 3, 0}}, 1), 2 * bytes);  // each expert is read once a call
  EXPECT_EQ(distance({{0, 1}, {2, 3}}, 1), 3 * bytes);
  EXPECT_EQ(distance({{0, 1}, {1, 2}}, 1), 0);          // 1 ends call 0 and begins call 1
  EXPECT_EQ(distance({{0, 1}, {0, 2}}, 1), 1 * bytes);  // 0, (1), 0
}

TEST(ReuseDistance, TheReplaySeamCounts) {
  // 3 is read last in the last call and first in the next replay's first.
  EXPECT_EQ(distance({{3}, {0, 1}, {2, 3}}, 1), 0);
}

TEST(ReuseDistance, WeightSetsKeepUsesApart) {
  const std::vector<std::vector<std::int32_t>> same = {{0, 1}, {0, 1}, {0, 1}, {0, 1}};
  EXPECT_EQ(distance(same, 1), 1 * bytes);
  EXPECT_EQ(distance(same, 2), 3 * bytes);
  EXPECT_EQ(distance(same, 4), 7 * bytes);
  // Sets 0 1 2 0 | 0 1 2 0: the graph's last call and the next replay's first share set 0.
  EXPECT_EQ(distance(same, 3), 1 * bytes);
  // More sets than calls: the calls' own sets, once a replay.
  EXPECT_EQ(distance(same, 9), 7 * bytes);
}

TEST(ReuseDistance, OtherRanksExpertsAreNotRead) {
  EXPECT_EQ(distance({{-1, 0}, {-1, 1}}, 1), 1 * bytes);
  EXPECT_EQ(distance({{-1}, {-1, -1}}, 2), -1);
  EXPECT_EQ(distance({}, 1), -1);
}

TEST(ReuseDistance, AnIdOutOfRangeIsAnInternalError) {
  try {
    distance({{4}}, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::internal);
  }
}

TEST(WeightSetsNeeded, FewestThatSuffice) {
  const auto same = calls({{0, 1}, {0, 1}, {0, 1}, {0, 1}});
  EXPECT_EQ(weight_sets_needed(same, bytes, 4, 0, 8), 1);
  EXPECT_EQ(weight_sets_needed(same, bytes, 4, 1 * bytes, 8), 1);
  EXPECT_EQ(weight_sets_needed(same, bytes, 4, 1 * bytes + 1, 8), 2);
  EXPECT_EQ(weight_sets_needed(same, bytes, 4, 3 * bytes + 1, 8), 4);  // 3 sets clash at the replay's seam
  EXPECT_EQ(weight_sets_needed(same, bytes, 4, 7 * bytes, 8), 4);
}

TEST(WeightSetsNeeded, TheFarthestWhenNoneSuffices) {
  const auto same = calls({{0, 1}, {0, 1}, {0, 1}, {0, 1}});
  EXPECT_EQ(weight_sets_needed(same, bytes, 4, 1'000'000, 8), 4);  // a fifth set would never be read
  EXPECT_EQ(weight_sets_needed(same, bytes, 4, 1'000'000, 3), 2);  // 3 sets are nearer than 2
  EXPECT_EQ(weight_sets_needed(same, bytes, 4, 1'000'000, 1), 1);
  EXPECT_EQ(weight_sets_needed(calls({{-1}}), bytes, 4, 1'000'000, 8), 1);
  EXPECT_EQ(weight_sets_needed({}, bytes, 4, 1'000'000, 8), 1);
}

}  // namespace
}  // namespace moetune
