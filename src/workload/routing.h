// Which experts each token goes to.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/workload.h"

namespace moetune {

enum class RoutingKind { uniform, zipf };

struct RoutingSpec {
  RoutingKind kind = RoutingKind::uniform;
  double skew = 1.0;  // zipf only: expert rank r (from 1, in a fixed random order) has weight r^-skew
};

Json to_json(const RoutingSpec& routing);              // {"kind":"uniform"} or {"kind":"zipf","skew":1.0}
RoutingSpec routing_spec_from_json(const Json& json);  // Error(usage) for an unknown kind

// One call's routing on this rank. Ids are local; -1 marks another rank's expert.
struct Routing {
  std::vector<std::int32_t> ids;  // [tokens, topk]
  std::vector<float> weights;     // [tokens, topk], each token's sum to 1 over all its experts
};

// `count` routings of `tokens` tokens. Each token's topk experts are distinct. For uniform routing the mean count of
// distinct local experts over the `count` calls is within 0.3 % of its expectation E_local * (1 - (1 - k/E)^tokens)
// (or as near as whole counts allow): luck must not decide a winner. Deterministic in `seed`.
std::vector<Routing> draw_routings(const Workload& w, const RoutingSpec& spec, int tokens, int count,
                                   std::uint64_t seed);

// Expected distinct local experts of one uniform call: E_local * (1 - (1 - k/E)^tokens).
double expected_active_experts(const Workload& w, int tokens);

// Distinct local ids in the routing.
int active_experts(const Routing& routing);

// How many calls received n tokens for some expert: histogram[n] = number of (call, local expert) pairs with n tokens.
std::vector<std::int64_t> load_histogram(const std::vector<Routing>& routings, int local_experts);

}  // namespace moetune
