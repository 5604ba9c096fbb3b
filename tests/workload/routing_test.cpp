#include "workload/routing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "workload/expect_error.h"

namespace moetune {
namespace {

Workload layer(int experts, int topk, int ep = 1) {
  return {"m", experts, topk, 256, 512, ep, ep, Dtype::bf16, Scales::none, std::nullopt};
}

double mean_active(const std::vector<Routing>& routings) {
  double sum = 0;
  for (const Routing& routing : routings) sum += active_experts(routing);
  return sum / static_cast<double>(routings.size());
}

// Distinct experts counted without the code under test.
int count_distinct(const Routing& routing) {
  std::set<int> seen(routing.ids.begin(), routing.ids.end());
  seen.erase(-1);
  return static_cast<int>(seen.size());
}

void expect_sound(const std::vector<Routing>& routings, const Workload& w, int tokens) {
  for (const Routing& routing : routings) {
    ASSERT_EQ(routing.ids.size(), static_cast<std::size_t>(tokens * w.topk));
    ASSERT_EQ(routing.weights.size(), routing.ids.size());
    for (int token = 0; token < tokens; ++token) {
      std::set<int> local;
      int elsewhere = 0;
      double sum = 0;
      for (int slot = token * w.topk; slot < (token + 1) * w.topk; ++slot) {
        const int id = routing.ids[static_cast<std::size_t>(slot)];
        ASSERT_TRUE(id >= -1 && id < w.local_experts()) << id;
        if (id < 0) {
          ++elsewhere;
        } else {
          local.insert(id);
        }
        ASSERT_GT(routing.weights[static_cast<std::size_t>(slot)], 0.0f);
        sum += routing.weights[static_cast<std::size_t>(slot)];
      }
      ASSERT_EQ(static_cast<int>(local.size()) + elsewhere, w.topk) << "an expert twice for token " << token;
      ASSERT_NEAR(sum, 1.0, 1e-6);
      if (w.ep == 1) {
        ASSERT_EQ(elsewhere, 0);
      }
    }
  }
}

}  // namespace

TEST(Routing, EachTokenGoesToDistinctExpertsOfThisRankOrElsewhere) {
  for (const Workload& w : {layer(384, 8), layer(384, 8, 4), layer(8, 8), layer(16, 1), layer(60, 4, 2)}) {
    for (const int tokens : {1, 7, 64}) {
      expect_sound(draw_routings(w, {}, tokens, 3, 5), w, tokens);
      expect_sound(draw_routings(w, {RoutingKind::zipf, 1.0}, tokens, 3, 5), w, tokens);
      expect_sound(draw_routings(w, {RoutingKind::zipf, 10.0}, tokens, 3, 5), w, tokens);
    }
  }
}

TEST(Routing, MeanActiveExpertsMeetsTheExpectation) {
  for (const Workload& w :
       {layer(384, 8), layer(384, 8, 4), layer(384, 8, 8), layer(512, 10), layer(8, 2), layer(16, 1)}) {
    for (const int tokens : {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024}) {
      for (const int count : {1, 2, 5, 16}) {
        for (const std::uint64_t seed : {0, 1, 99}) {
          const auto routings = draw_routings(w, {}, tokens, count, seed);
          double sum = 0;
          for (const Routing& routing : routings) sum += count_distinct(routing);
          const double target = count * expected_active_experts(w, tokens);
          EXPECT_LE(std::abs(sum - target), std::max(0.003 * target, 0.5 + 1e-6))
              << w.experts << " experts, ep " << w.ep << ", " << tokens << " tokens, " << count << " calls";
        }
      }
    }
  }
}

TEST(Routing, Expectation) {
  EXPECT_NEAR(expected_active_experts(layer(384, 8), 1), 8.0, 1e-9);
  EXPECT_NEAR(expected_active_experts(layer(384, 8, 4), 1), 2.0, 1e-9);
  EXPECT_NEAR(expected_active_experts(layer(384, 8), 64), 284.2, 0.1);
  EXPECT_DOUBLE_EQ(expected_active_experts(layer(8, 8), 3), 8.0);
}

TEST(Routing, CallsKeepTheirNaturalSpread) {
  const auto routings = draw_routings(layer(384, 8), {}, 64, 40, 3);
  std::set<int> counts;
  for (const Routing& routing : routings) counts.insert(count_distinct(routing));
  EXPECT_GE(counts.size(), 6u);
}

TEST(Routing, EveryExpertIsAsLikely) {
  const Workload w = layer(16, 4);
  std::vector<int> hits(16);
  for (const Routing& routing : draw_routings(w, {}, 4000, 4, 11)) {
    for (const int id : routing.ids) ++hits[static_cast<std::size_t>(id)];
  }
  // 4000 expected, standard deviation 55.
  for (const int hit : hits) EXPECT_NEAR(hit, 4000, 300);
}

TEST(Routing, TheSeedDecides) {
  const Workload w = layer(384, 8, 4);
  for (const RoutingSpec& spec : {RoutingSpec{}, RoutingSpec{RoutingKind::zipf, 1.0}}) {
    const auto first = draw_routings(w, spec, 48, 4, 7);
    const auto again = draw_routings(w, spec, 48, 4, 7);
    const auto other = draw_routings(w, spec, 48, 4, 8);
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first[i].ids, again[i].ids);
      EXPECT_EQ(first[i].weights, again[i].weights);
      EXPECT_NE(first[i].ids, other[i].ids);
      EXPECT_NE(first[i].weights, other[i].weights);
    }
    EXPECT_NE(first[0].ids, first[1].ids);
    EXPECT_NE(first[0].weights, first[1].weights);
  }
}

TEST(Routing, ZeroSkewIsTheUniformDraw) {
  const auto uniform = draw_routings(layer(64, 8), {}, 100, 3, 7);
  const auto zipf = draw_routings(layer(64, 8), {RoutingKind::zipf, 0.0}, 100, 3, 7);
  for (std::size_t i = 0; i < uniform.size(); ++i) {
    EXPECT_EQ(uniform[i].ids, zipf[i].ids);
    EXPECT_EQ(uniform[i].weights, zipf[i].weights);
  }
}

TEST(Routing, ZipfLoadsFollowTheRanks) {
  // With one expert a token, rank r gets a share of r^-1 / (1 + 1/2 + 1/3 + 1/4).
  std::vector<double> hits(4);
  for (const Routing& routing : draw_routings(layer(4, 1), {RoutingKind::zipf, 1.0}, 20000, 1, 3)) {
    for (const int id : routing.ids) ++hits[static_cast<std::size_t>(id)];
  }
  std::sort(hits.begin(), hits.end(), std::greater<>());
  for (int rank = 1; rank <= 4; ++rank) EXPECT_NEAR(hits[rank - 1] / 20000, 12.0 / 25 / rank, 0.015) << rank;
}

TEST(Routing, ZipfKeepsItsHotExpertsOverCalls) {
  const auto routings = draw_routings(layer(64, 1), {RoutingKind::zipf, 3.0}, 200, 2, 3);
  const auto hottest = [](const Routing& routing) {
    std::vector<int> hits(64);
    for (const int id : routing.ids) ++hits[static_cast<std::size_t>(id)];
    return std::max_element(hits.begin(), hits.end()) - hits.begin();
  };
  EXPECT_EQ(hottest(routings[0]), hottest(routings[1]));
  EXPECT_LT(mean_active(routings), 0.5 * expected_active_experts(layer(64, 1), 200));
}

TEST(Routing, ABadSkewIsRefused) {
  for (const double skew : {-1.0, 11.0, std::nan("")}) {
    expect_parts(usage_error([&] {
                   draw_routings(layer(8, 2), {RoutingKind::zipf, skew}, 1, 1, 0);
                 }),
                 {"skew", "0 to 10"});
  }
}

TEST(Routing, JsonRoundTrip) {
  for (const RoutingSpec& spec : {RoutingSpec{}, RoutingSpec{RoutingKind::zipf, 0.5}}) {
    const RoutingSpec read = routing_spec_from_json(to_json(spec));
    EXPECT_EQ(read.kind, spec.kind);
    if (spec.kind == RoutingKind::zipf) {
      EXPECT_EQ(read.skew, spec.skew);
    }
  }
  EXPECT_THROW(routing_spec_from_json({{"kind", "even"}}), Error);
}

TEST(Routing, HistogramCountsPairsOfCallAndExpert) {
  const std::vector<Routing> routings = {{{0, 1, 0, -1}, {}}, {{2, 1, 2, 0}, {}}};
  // Call 0: loads 2 1 0; call 1: loads 1 1 2.
  EXPECT_EQ(load_histogram(routings, 3), (std::vector<std::int64_t>{1, 3, 2}));
  EXPECT_EQ(active_experts(routings[0]), 2);
  EXPECT_EQ(active_experts(routings[1]), 3);
  EXPECT_EQ(active_experts({{-1, -1}, {}}), 0);

  const Workload w = layer(384, 8, 4);
  const auto histogram = load_histogram(draw_routings(w, {}, 256, 3, 1), w.local_experts());
  EXPECT_EQ(std::accumulate(histogram.begin(), histogram.end(), std::int64_t{0}), 3 * 96);
}

TEST(Routing, IsFast) {
  using Clock = std::chrono::steady_clock;
  for (const int tokens : {1, 8, 64, 4096}) {
    const auto start = Clock::now();
    draw_routings(layer(384, 8), {}, tokens, tokens == 4096 ? 2 : 16, 1);
    const auto ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    RecordProperty("tokens_" + std::to_string(tokens) + "_us", static_cast<int>(1000 * ms));
    // Some 2 ms in a release build; the bound allows for a debug build on a busy machine.
    EXPECT_LT(ms, 1000) << tokens;
  }
}

}  // namespace moetune
