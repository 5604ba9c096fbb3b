#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"

namespace moetune {
namespace {

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  const std::vector<double> samples{40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(quantile(samples, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(samples, 1), 40);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.5), 25);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.25), 17.5);  // position 0.75: 10 + 0.75 * 10
  EXPECT_DOUBLE_EQ(quantile(samples, 0.9), 37);     // position 2.7
  EXPECT_DOUBLE_EQ(quantile({5}, 0.3), 5);
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({2, 2, 2, 8}), 2);
}

TEST(Quantile, NoNumberWithoutNumbers) {
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
  EXPECT_TRUE(std::isnan(median({1, std::nan(""), 3})));
}

TEST(Summarise, HandComputed) {
  const Summary summary = summarise({4, 2, 8, 6, 10});
  EXPECT_DOUBLE_EQ(summary.median, 6);
  EXPECT_DOUBLE_EQ(summary.p10, 2.8);  // position 0.4 between 2 and 4
  EXPECT_DOUBLE_EQ(summary.p90, 9.2);
  EXPECT_DOUBLE_EQ(summary.min, 2);
  EXPECT_DOUBLE_EQ(summary.cv, std::sqrt(10.0) / 6);  // squares 16+4+0+4+16 = 40, / 4
  EXPECT_EQ(summary.samples, 5);
}

TEST(Summarise, OneSampleAndNone) {
  EXPECT_EQ(summarise({7}).cv, 0);
  EXPECT_EQ(summarise({7}).p90, 7);
  EXPECT_EQ(summarise({}).samples, 0);
  EXPECT_EQ(summarise({}).median, 0);
}

// A timing-like draw: a mean with +- 10 % of uniform noise.
std::vector<double> noisy(Random& random, double mean, int count) {
  std::vector<double> samples(static_cast<std::size_t>(count));
  for (double& sample : samples) sample = mean * (0.9 + 0.2 * random.uniform());
  return samples;
}

TEST(PairedRatio, IsTheMedianOfRatiosNotTheRatioOfMedians) {
  // Ratios 0.5, 2, 1: median 1; the medians' ratio would be 20 / 10.
  EXPECT_DOUBLE_EQ(paired_ratio({5, 20, 30}, {10, 10, 30}, 1).ratio, 1);
}

TEST(PairedRatio, CommonDriftCancels) {
  std::vector<double> a, b;
  for (int i = 0; i < 20; ++i) {
    b.push_back(100 + 10 * i);
    a.push_back(0.9 * b.back());
  }
  const PairedRatio result = paired_ratio(a, b, 1);
  EXPECT_DOUBLE_EQ(result.ratio, 0.9);
  EXPECT_DOUBLE_EQ(result.band.low, 0.9 * 0.99);  // no spread: the smallest band
  EXPECT_DOUBLE_EQ(result.band.high, 0.9 * 1.01);
}

TEST(PairedRatio, BandHoldsTheRatioAndFollowsTheSpread) {
  Random random(3);
  const PairedRatio few = paired_ratio(noisy(random, 100, 9), noisy(random, 100, 9), 1);
  const PairedRatio many = paired_ratio(noisy(random, 100, 400), noisy(random, 100, 400), 1);
  for (const PairedRatio& result : {few, many}) {
    EXPECT_LE(result.band.low, result.ratio * 0.99);
    EXPECT_GE(result.band.high, result.ratio * 1.01);
  }
  EXPECT_GT(few.band.high - few.band.low, 2 * (many.band.high - many.band.low));
}

TEST(PairedRatio, DeterministicInTheSeed) {
  Random random(5);
  const auto a = noisy(random, 100, 15), b = noisy(random, 100, 15);
  const PairedRatio first = paired_ratio(a, b, 11), again = paired_ratio(a, b, 11);
  EXPECT_EQ(first.band.low, again.band.low);
  EXPECT_EQ(first.band.high, again.band.high);
  bool differs = false;
  for (std::uint64_t seed = 12; seed < 20; ++seed) {
    const PairedRatio other = paired_ratio(a, b, seed, 50);
    differs |= other.band.low != first.band.low || other.band.high != first.band.high;
    EXPECT_EQ(other.ratio, first.ratio);
  }
  EXPECT_TRUE(differs);
}

TEST(PairedRatio, BandCoversTheTruthAsOftenAsItSays) {
  Random random(17);
  constexpr int trials = 300;
  int covered = 0, far_covered = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const PairedRatio result = paired_ratio(noisy(random, 95, 25), noisy(random, 100, 25), trial);
    // The median of u / v with u, v drawn alike is 1, so the truth is 0.95.
    covered += result.band.low <= 0.95 && 0.95 <= result.band.high;
    far_covered += result.band.low <= 1.1 && 1.1 <= result.band.high;
  }
  EXPECT_GE(covered, trials * 90 / 100);
  EXPECT_LE(covered, trials - 1);  // a band that always covers says nothing
  EXPECT_EQ(far_covered, 0);
}

TEST(PairedRatio, UnpairedSamplesAreAnInternalError) {
  for (const auto& [a, b] : {std::pair{std::vector<double>{1, 2}, std::vector<double>{1}}, {{}, {}}}) {
    try {
      paired_ratio(a, b, 1);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::internal);
    }
  }
}

}  // namespace
}  // namespace moetune
