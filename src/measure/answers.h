// What preparing, checking and timing a plan answers; journals and worker messages hold the same members.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/outcome.h"
#include "kernels/plan.h"
#include "measure/quantity.h"

namespace moetune {

struct ProblemAnswer {  // what open() prepared
  Outcome outcome = Outcome::unrecorded;
  std::string log;
  int calls = 0;  // calls with different routings in one graph; a sample is the mean over them
  int weight_sets = 0;
  double active_experts = 0;  // mean distinct local experts of a call
  double slots = 0;           // mean (token, local expert) pairs of a call
  double l2_ratio = 0;        // smallest reuse distance / L2
  std::vector<std::int64_t> load_histogram;
};

struct ValidateAnswer {
  Outcome outcome = Outcome::unrecorded;  // ok, wrong, launch, memory, timeout, crash, unrecorded
  double rel_err = 0;                     // |out - ref| / |ref| over the whole layer's output
  double worst_token_err = 0;             // the same of the worst token
  std::int64_t exact_mismatches = 0;      // elements that differ in the integer-valued, bit-exact check of both GEMMs
  std::string log;                        // only when not ok
};

struct MeasureRequest {
  Quantity quantity = Quantity::rank;
  std::vector<Plan> plans;   // interleaved, round by round, in an order drawn from `seed`; empty for floor
  int rounds = 1;            // samples wanted per plan, after one unrecorded warm-up replay
  double stop_above_us = 0;  // > 0, single plan: give up after the first sample above this
  std::uint64_t seed = 0;
  std::string stage;  // "screen", "race", "final", "report": for the journal's reader
};

struct MeasureAnswer {
  Outcome outcome = Outcome::unrecorded;
  std::vector<std::vector<double>> samples_us;  // per plan (floor: one)
  std::string log;
};

Json to_json(const ProblemAnswer& answer);
Json to_json(const ValidateAnswer& answer);
Json to_json(const MeasureAnswer& answer);
Json to_json(const MeasureRequest& request);
ProblemAnswer problem_answer_from_json(const Json& json);
ValidateAnswer validate_answer_from_json(const Json& json);
MeasureAnswer measure_answer_from_json(const Json& json);
MeasureRequest measure_request_from_json(const Json& json);

}  // namespace moetune
