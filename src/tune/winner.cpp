#include "tune/winner.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace moetune {
namespace {

// Plans measured alone after a failed interleaved call may have different numbers of samples.
PairedRatio ratio_of(const FinalEntry& a, const FinalEntry& b, std::uint64_t seed) {
  const auto common = static_cast<std::ptrdiff_t>(std::min(a.samples_us.size(), b.samples_us.size()));
  return paired_ratio({a.samples_us.begin(), a.samples_us.begin() + common},
                      {b.samples_us.begin(), b.samples_us.begin() + common}, seed);
}

std::int64_t value_or_zero(const Config& config, const std::string& name) {
  return config.has(name) ? config.at(name) : 0;
}

auto simplicity(const Config& config, const Config* neighbour) {
  const std::int64_t elements = value_or_zero(config, "num_stages") * value_or_zero(config, "BLOCK_SIZE_K") *
                                (value_or_zero(config, "BLOCK_SIZE_M") + value_or_zero(config, "BLOCK_SIZE_N"));
  const bool differs = neighbour == nullptr || !(config == *neighbour);
  return std::make_tuple(elements, value_or_zero(config, "num_warps"), differs, key_of(config));
}

Finalist finalist_of(const FinalEntry& entry, const FinalEntry& fastest, const FinalEntry* baseline,
                     std::uint64_t seed) {
  Finalist finalist;
  finalist.plan = entry.plan;
  finalist.config = entry.config;
  finalist.time_us = summarise(entry.samples_us);
  finalist.to_baseline.band = {1, 1};
  if (baseline != nullptr) finalist.to_baseline = ratio_of(entry, *baseline, seed);
  finalist.to_best = ratio_of(entry, fastest, seed);
  finalist.tied = finalist.to_best.band.low <= 1.0;
  return finalist;
}

}  // namespace

Choice choose(const std::vector<FinalEntry>& entries, Quantity ranked_by, const Config* neighbour, std::uint64_t seed) {
  Choice choice;
  choice.ranked_by = ranked_by;
  if (entries.empty()) return choice;

  std::vector<const FinalEntry*> order;
  const FinalEntry* baseline = nullptr;
  for (const FinalEntry& entry : entries) {
    order.push_back(&entry);
    if (entry.is_baseline) baseline = &entry;
  }
  std::stable_sort(order.begin(), order.end(), [](const FinalEntry* a, const FinalEntry* b) {
    return median(a->samples_us) < median(b->samples_us);
  });

  std::size_t chosen = order.size();
  for (std::size_t i = 0; i < order.size(); ++i) {
    choice.finalists.push_back(finalist_of(*order[i], *order[0], baseline, seed));
    const Finalist& finalist = choice.finalists.back();
    const bool replaces = baseline == nullptr || (order[i] != baseline && finalist.to_baseline.band.high < 1);
    if (!finalist.tied || !replaces) continue;
    if (chosen == order.size() ||
        simplicity(finalist.config, neighbour) < simplicity(choice.finalists[chosen].config, neighbour)) {
      chosen = i;
    }
  }
  if (chosen == order.size()) {
    chosen = static_cast<std::size_t>(std::find(order.begin(), order.end(), baseline) - order.begin());
    choice.is_baseline = true;
  }
  choice.found = true;
  choice.winner = choice.finalists[chosen];
  choice.validation = order[chosen]->validation;
  return choice;
}

}  // namespace moetune
