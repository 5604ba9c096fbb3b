// The winner rule: pure, on the samples of one final. Private to this layer.
#pragma once

#include <cstdint>
#include <vector>

#include "tune/tuner.h"

namespace moetune {

struct FinalEntry {
  Plan plan;
  Config config;
  ValidateAnswer validation;
  bool is_baseline = false;
  std::vector<double> samples_us;  // not empty; sample i of all entries is of the same round
};

// The fastest by median, those tied with it, and of these the one to write. Only an entry that is faster than the
// baseline beyond the band replaces it; among several that do and are tied with the fastest, the simplest: least shared
// memory (num_stages * (BLOCK_SIZE_M + BLOCK_SIZE_N) * BLOCK_SIZE_K), then fewest num_warps, then the neighbouring
// token count's winner, then the first key in the alphabet. `neighbour`: that winner's config, or null.
Choice choose(const std::vector<FinalEntry>& entries, Quantity ranked_by, const Config* neighbour, std::uint64_t seed);

}  // namespace moetune
