#include "workload/routing.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace moetune {
namespace {

using Ids = std::vector<std::int32_t>;  // [tokens, topk]

// Beyond this a power of the rank is zero in double precision for large layers.
constexpr double kMostSkew = 10.0;
// Calls drawn again at most while steering; a few dozen suffice.
constexpr int kMostRedraws = 4000;
constexpr double kTolerance = 0.003;

enum class Stream : std::uint64_t { ids = 1, weights = 2, ranks = 3 };

// An independent generator for each use, so that e.g. drawing a call again does not move the other calls.
Random random_for(std::uint64_t seed, Stream stream, std::uint64_t call = 0, std::uint64_t attempt = 0) {
  for (const std::uint64_t part : {static_cast<std::uint64_t>(stream), call, attempt}) {
    seed = Random(seed ^ (part * 0xd1342543de82ef95ull)).next();
  }
  return Random(seed);
}

// Draws the distinct experts of one token after another.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual void draw(Random& random, std::int32_t* experts, int topk) = 0;
  // Before each call, so that a call's draw depends on its generator only.
  virtual void reset() = 0;
};

// The first steps of a Fisher-Yates shuffle. The order that earlier tokens left behind is as good as any.
class UniformSampler : public Sampler {
 public:
  explicit UniformSampler(int experts) : order_(static_cast<std::size_t>(experts)) {}
  void reset() override { std::iota(order_.begin(), order_.end(), 0); }
  void draw(Random& random, std::int32_t* experts, int topk) override {
    const auto count = static_cast<std::uint32_t>(order_.size());
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(topk); ++i) {
      std::swap(order_[i], order_[i + random.below(count - i)]);
      experts[i] = order_[i];
    }
  }

 private:
  std::vector<std::int32_t> order_;
};

// Draws in proportion to weights, each expert once a token: a tree of sums, where a drawn leaf is zero until the token
// is done. Sums are always added up anew from their children: subtracting would let rounding errors grow.
class WeightedSampler : public Sampler {
 public:
  explicit WeightedSampler(const std::vector<double>& weights) : weights_(weights) {
    while (leaves_ < weights.size()) leaves_ *= 2;
    sums_.assign(2 * leaves_, 0.0);
    for (std::size_t i = 0; i < weights.size(); ++i) set(i, weights[i]);
  }
  void reset() override {}
  void draw(Random& random, std::int32_t* experts, int topk) override {
    for (int i = 0; i < topk; ++i) {
      experts[i] = static_cast<std::int32_t>(find(random.uniform() * sums_[1]));
      set(static_cast<std::size_t>(experts[i]), 0.0);
    }
    for (int i = 0; i < topk; ++i) set(static_cast<std::size_t>(experts[i]), weights_[experts[i]]);
  }

 private:
  void set(std::size_t leaf, double weight) {
    std::size_t node = leaves_ + leaf;
    sums_[node] = weight;
    for (node /= 2; node >= 1; node /= 2) sums_[node] = sums_[2 * node] + sums_[2 * node + 1];
  }
  std::size_t find(double target) const {
    std::size_t node = 1;
    while (node < leaves_) {
      const double left = sums_[2 * node];
      // The second test keeps rounding from leading into a part without weight.
      const bool go_left = target < left || sums_[2 * node + 1] == 0.0;
      if (!go_left) target -= left;
      node = 2 * node + (go_left ? 0 : 1);
    }
    return node - leaves_;
  }

  std::vector<double> weights_;
  std::size_t leaves_ = 1;
  std::vector<double> sums_;
};

std::vector<double> zipf_weights(int experts, double skew, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(experts));
  std::iota(order.begin(), order.end(), 0);
  Random random = random_for(seed, Stream::ranks);
  for (std::uint32_t left = static_cast<std::uint32_t>(experts); left > 1; --left) {
    std::swap(order[left - 1], order[random.below(left)]);
  }
  std::vector<double> weights(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    weights[static_cast<std::size_t>(order[rank])] = std::pow(static_cast<double>(rank + 1), -skew);
  }
  return weights;
}

struct Drawer {
  const Workload& workload;
  int tokens;
  std::uint64_t seed;
  std::unique_ptr<Sampler> sampler;

  Ids draw(int call, int attempt) const {
    Random random =
        random_for(seed, Stream::ids, static_cast<std::uint64_t>(call), static_cast<std::uint64_t>(attempt));
    Ids ids(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(workload.topk));
    sampler->reset();
    for (std::size_t at = 0; at < ids.size(); at += static_cast<std::size_t>(workload.topk)) {
      sampler->draw(random, &ids[at], workload.topk);
    }
    // This is rank 0: it holds the first experts.
    for (std::int32_t& id : ids) id = id < workload.local_experts() ? id : -1;
    return ids;
  }
};

int distinct(const Ids& ids) {
  std::vector<bool> seen;
  int count = 0;
  for (const std::int32_t id : ids) {
    if (id < 0) continue;
    const auto at = static_cast<std::size_t>(id);
    if (at >= seen.size()) seen.resize(at + 1);
    if (!seen[at]) ++count;
    seen[at] = true;
  }
  return count;
}

// Draws single calls again, one after the other, and keeps what brings the total nearer to its expectation. Most calls
// stay as drawn, so their natural spread stays too.
void steer(const Drawer& drawer, std::vector<Ids>* calls) {
  const double target = expected_active_experts(drawer.workload, drawer.tokens) * static_cast<double>(calls->size());
  const double tolerance = std::max(kTolerance * target, 0.5 + 1e-9);
  std::vector<int> counts;
  for (const Ids& ids : *calls) counts.push_back(distinct(ids));
  double total = std::accumulate(counts.begin(), counts.end(), 0);
  for (int redraw = 0; redraw < kMostRedraws && std::abs(total - target) > tolerance; ++redraw) {
    const std::size_t call = static_cast<std::size_t>(redraw) % calls->size();
    Ids ids = drawer.draw(static_cast<int>(call), redraw + 1);
    const int count = distinct(ids);
    const double moved = total - counts[call] + count;
    if (std::abs(moved - target) >= std::abs(total - target)) continue;
    total = moved;
    counts[call] = count;
    (*calls)[call] = std::move(ids);
  }
}

std::vector<float> draw_weights(int tokens, int topk, Random random) {
  std::vector<float> weights(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(topk));
  std::vector<double> raw(static_cast<std::size_t>(topk));
  for (std::size_t at = 0; at < weights.size(); at += raw.size()) {
    // Away from zero: an expert whose weight vanishes could compute anything unnoticed.
    for (double& value : raw) value = 0.25 + random.uniform();
    const double sum = std::accumulate(raw.begin(), raw.end(), 0.0);
    for (std::size_t i = 0; i < raw.size(); ++i) weights[at + i] = static_cast<float>(raw[i] / sum);
  }
  return weights;
}

}  // namespace

std::vector<Routing> draw_routings(const Workload& w, const RoutingSpec& spec, int tokens, int count,
                                   std::uint64_t seed) {
  const bool skewed = spec.kind == RoutingKind::zipf && spec.skew != 0.0;
  if (skewed && !(spec.skew > 0.0 && spec.skew <= kMostSkew)) {
    throw Error(ExitCode::usage, "the skew must be from 0 to 10, it is " + std::to_string(spec.skew));
  }
  Drawer drawer{w, tokens, seed, nullptr};
  if (skewed) {
    drawer.sampler = std::make_unique<WeightedSampler>(zipf_weights(w.experts, spec.skew, seed));
  } else {
    drawer.sampler = std::make_unique<UniformSampler>(w.experts);
  }
  std::vector<Ids> calls;
  for (int call = 0; call < count; ++call) calls.push_back(drawer.draw(call, 0));
  if (!skewed && !calls.empty()) steer(drawer, &calls);

  std::vector<Routing> routings;
  for (int call = 0; call < count; ++call) {
    const Random random = random_for(seed, Stream::weights, static_cast<std::uint64_t>(call));
    routings.push_back({std::move(calls[static_cast<std::size_t>(call)]), draw_weights(tokens, w.topk, random)});
  }
  return routings;
}

double expected_active_experts(const Workload& w, int tokens) {
  const double missed = 1.0 - static_cast<double>(w.topk) / w.experts;
  return w.local_experts() * (1.0 - std::pow(missed, tokens));
}

int active_experts(const Routing& routing) { return distinct(routing.ids); }

std::vector<std::int64_t> load_histogram(const std::vector<Routing>& routings, int local_experts) {
  std::vector<std::int64_t> histogram;
  for (const Routing& routing : routings) {
    std::vector<std::size_t> loads(static_cast<std::size_t>(local_experts));
    for (const std::int32_t id : routing.ids) {
      if (id >= 0) ++loads.at(static_cast<std::size_t>(id));
    }
    for (const std::size_t load : loads) {
      if (load >= histogram.size()) histogram.resize(load + 1);
      ++histogram[load];
    }
  }
  return histogram;
}

Json to_json(const RoutingSpec& routing) {
  if (routing.kind == RoutingKind::uniform) return {{"kind", "uniform"}};
  return {{"kind", "zipf"}, {"skew", routing.skew}};
}

RoutingSpec routing_spec_from_json(const Json& json) {
  RoutingSpec routing;
  const std::string kind = json.at("kind").get<std::string>();
  if (kind != "uniform" && kind != "zipf") throw Error(ExitCode::usage, "unknown routing \"" + kind + "\"");
  routing.kind = kind == "zipf" ? RoutingKind::zipf : RoutingKind::uniform;
  routing.skew = json.value("skew", routing.skew);
  return routing;
}

}  // namespace moetune
