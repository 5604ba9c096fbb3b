// Cold weights: how far apart two uses of the same weights are.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/routing.h"

namespace moetune {

// The smallest number of weight bytes read between two uses of the same expert of the same weight set, when call i
// uses weight set i % weight_sets and the calls repeat for ever (graph replay: each replay begins at call 0 with set
// 0). A call reads its experts in ascending order, each once. `bytes_per_expert` counts both GEMMs' weights. -1 when no
// expert is used at all.
std::int64_t smallest_reuse_distance(const std::vector<Routing>& routings, int weight_sets,
                                     std::int64_t bytes_per_expert, int local_experts);

// The fewest weight sets (<= most) with a reuse distance >= wanted bytes; when none suffices, the count with the
// largest distance (more sets than calls change nothing). 1 when no expert is used.
int weight_sets_needed(const std::vector<Routing>& routings, std::int64_t bytes_per_expert, int local_experts,
                       std::int64_t wanted_bytes, int most);

}  // namespace moetune
