#include "measure/rotation.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace moetune {
namespace {

using ActiveExperts = std::vector<std::int32_t>;  // distinct local ids of one call, ascending: the order they are read

std::vector<ActiveExperts> active_experts_of(const std::vector<Routing>& routings, int local_experts) {
  std::vector<ActiveExperts> calls;
  for (const Routing& routing : routings) {
    std::vector<bool> used(static_cast<std::size_t>(local_experts));
    for (const std::int32_t id : routing.ids) {
      if (id < 0) continue;  // another rank's
      if (id >= local_experts) {
        throw Error(ExitCode::internal, "a routing names expert " + std::to_string(id) + " of " +
                                            std::to_string(local_experts) + " local ones");
      }
      used[static_cast<std::size_t>(id)] = true;
    }
    ActiveExperts active;
    for (std::int32_t id = 0; id < local_experts; ++id) {
      if (used[static_cast<std::size_t>(id)]) active.push_back(id);
    }
    calls.push_back(std::move(active));
  }
  return calls;
}

// In units of one expert's bytes; -1 when no expert is used.
std::int64_t smallest_distance(const std::vector<ActiveExperts>& calls, int weight_sets, int local_experts) {
  constexpr std::int64_t never = -1;
  std::vector<std::int64_t> read_after(static_cast<std::size_t>(weight_sets) * local_experts, never);
  std::int64_t read = 0;
  std::int64_t smallest = never;
  // A graph replays with the weight sets it was captured with, so the sequence repeats after one replay and two hold
  // every pair of neighbouring uses.
  for (int replay = 0; replay < 2; ++replay) {
    for (std::size_t call = 0; call < calls.size(); ++call) {
      const std::size_t first = call % static_cast<std::size_t>(weight_sets) * local_experts;
      for (const std::int32_t expert : calls[call]) {
        std::int64_t& last = read_after[first + static_cast<std::size_t>(expert)];
        if (last != never && (smallest == never || read - last < smallest)) smallest = read - last;
        last = ++read;
      }
    }
  }
  return smallest;
}

}  // namespace

std::int64_t smallest_reuse_distance(const std::vector<Routing>& routings, int weight_sets,
                                     std::int64_t bytes_per_expert, int local_experts) {
  if (weight_sets < 1) throw Error(ExitCode::internal, "rotation needs at least one weight set");
  const std::int64_t distance =
      smallest_distance(active_experts_of(routings, local_experts), weight_sets, local_experts);
  return distance < 0 ? -1 : distance * bytes_per_expert;
}

int weight_sets_needed(const std::vector<Routing>& routings, std::int64_t bytes_per_expert, int local_experts,
                       std::int64_t wanted_bytes, int most) {
  const std::vector<ActiveExperts> calls = active_experts_of(routings, local_experts);
  const int useful = std::min<int>(most, static_cast<int>(calls.size()));  // a set more than calls is never read
  int best = 1;
  std::int64_t best_distance = -1;
  for (int sets = 1; sets <= useful; ++sets) {
    const std::int64_t distance = smallest_distance(calls, sets, local_experts);
    if (distance < 0) break;
    if (distance > best_distance) {
      best = sets;
      best_distance = distance;
    }
    if (distance * bytes_per_expert >= wanted_bytes) break;
  }
  return best;
}

}  // namespace moetune
