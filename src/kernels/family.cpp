#include "kernels/family.h"

#include <algorithm>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"
#include "jit/embedded.h"
#include "kernels/grouped_gemm.h"
#include "kernels/layer_steps.h"
#include "space/space.h"

namespace moetune {

const std::vector<Family>& families() {
  static const std::vector<Family> table = {grouped_gemm_family(), sort_family(), quantise_family(), silu_mul_family(),
                                            topk_sum_family()};
  return table;
}

const Family& family(const std::string& name) {
  std::vector<std::string> names;
  for (const Family& f : families()) {
    if (f.name == name) return f;
    names.push_back(f.name);
  }
  throw Error(ExitCode::usage,
              "unknown kernel family '" + name + "'; nearest: " + join(nearest_names(name, names), ", "));
}

std::string family_digest(const Family& f) {
  std::string text = source_digest(f.source) + embedded_file(f.host);
  if (!f.space.empty()) text += embedded_file("search_spaces/" + f.space + ".json");
  return digest(text);
}

Plan portable_plan(const Workload& w, int tokens, const Config& gemm_config) {
  Plan plan;
  if (w.dtype == Dtype::fp8_w8a8) plan.steps.push_back({{Step::quantise}, "quantise_rows", {}});
  if (!naive_sort(w, tokens)) {
    Config granularity;
    granularity.set("BLOCK_SIZE_M", gemm_config.at("BLOCK_SIZE_M"));
    plan.steps.push_back({{Step::sort}, "sort_slots", granularity});
  }
  plan.steps.push_back({{Step::gemm1}, "grouped_gemm", gemm_config});
  plan.steps.push_back({{Step::activation}, "silu_mul", {}});
  plan.steps.push_back({{Step::gemm2}, "grouped_gemm", gemm_config});
  plan.steps.push_back({{Step::combine}, "topk_sum", {}});
  return plan;
}

namespace {

std::vector<Step> steps_of(const Plan& plan) {
  std::vector<Step> steps;
  for (const PlanStep& step : plan.steps) steps.insert(steps.end(), step.steps.begin(), step.steps.end());
  return steps;
}

// Values the space lists and its constraints allow; the engine's default may lie beyond the latter.
void check_point(const Problem& problem, const Space& space, const Config& config) {
  for (const Parameter& parameter : space.parameters) {
    const bool listed = config.has(parameter.name) && std::find(parameter.values.begin(), parameter.values.end(),
                                                                config.at(parameter.name)) != parameter.values.end();
    if (listed) continue;
    std::vector<std::string> values;
    for (const std::int64_t value : parameter.values) values.push_back(std::to_string(value));
    throw Error(ExitCode::usage, "{" + key_of(config) + "} is no config of " + space.name + ": " + parameter.name +
                                     " must be one of " + join(values, ", "));
  }
  if (config.values.size() != space.parameters.size()) {
    throw Error(ExitCode::usage, "{" + key_of(config) + "} has parameters that " + space.name + " does not know");
  }
  const Workload& w = problem.workload;
  if (w.block_shape && config.at("BLOCK_SIZE_K") > std::min(w.block_shape->n, w.block_shape->k)) {
    throw Error(ExitCode::usage, "{" + key_of(config) + "}: BLOCK_SIZE_K is larger than the scale block");
  }
}

}  // namespace

void check_plan(const Problem& problem, const Plan& plan) {
  const Config any = engine_default_config(problem.workload, problem.tokens);
  if (steps_of(plan) != steps_of(portable_plan(problem.workload, problem.tokens, any))) {
    throw Error(ExitCode::usage, "the plan for " + std::to_string(problem.tokens) +
                                     " tokens does not have each of the layer's steps once and in order");
  }
  for (const PlanStep& step : plan.steps) {
    const Family& f = family(step.family);
    for (const Step one : step.steps) {
      if (std::find(f.steps.begin(), f.steps.end(), one) == f.steps.end()) {
        throw Error(ExitCode::usage, "family " + f.name + " does not do the step " + name_of(one));
      }
      if (one == Step::sort && !step.config.has("BLOCK_SIZE_M")) {
        throw Error(ExitCode::usage, "the sort step needs its BLOCK_SIZE_M");
      }
    }
    if (!f.space.empty()) check_point(problem, load_space(f.space), step.config);
  }
}

std::vector<KernelSource> kernels_of(const Problem& problem, const Plan& plan) {
  std::vector<KernelSource> all;
  for (const PlanStep& step : plan.steps) {
    for (const KernelSource& source : family(step.family).kernels(problem, step.steps.front(), step.config)) {
      if (std::find(all.begin(), all.end(), source) == all.end()) all.push_back(source);
    }
  }
  return all;
}

double predicted_us(const Problem& problem, const Plan& plan) {
  double sum = 0;
  for (const PlanStep& step : plan.steps) {
    sum += family(step.family).predicted_us(problem, step.steps.front(), step.config);
  }
  return sum;
}

}  // namespace moetune
