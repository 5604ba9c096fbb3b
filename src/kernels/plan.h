// A layer is a plan of steps; a plan names for each step, or run of steps, a kernel family and its config.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "space/config.h"

namespace moetune {

enum class Step { quantise, sort, gemm1, activation, gemm2, combine };
const char* name_of(Step step);
Step step_from_name(const std::string& name);

struct PlanStep {
  std::vector<Step> steps;  // the run of steps this family does with this config
  std::string family;
  Config config;  // empty for a family without tunables
  bool operator==(const PlanStep&) const = default;
};

struct Plan {
  std::vector<PlanStep> steps;  // in the order they run (a family of two separate steps stands twice)
  bool operator==(const Plan&) const = default;
};

// The parts with a config only, e.g. "grouped_gemm(gemm1)BLOCK_SIZE_M=16,...;grouped_gemm(gemm2)...", consecutive equal
// configs of one family written once: "grouped_gemm(gemm1,gemm2)BLOCK_SIZE_M=16,...". Unique within a workload.
std::string key_of(const Plan& plan);

Json to_json(const Plan& plan);
Plan plan_from_json(const Json& json);  // Error(usage) for unknown steps or families

}  // namespace moetune
