#include "kernels/family.h"

#include <algorithm>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"
#include "jit/embedded.h"
#include "kernels/grouped_gemm.h"
#include "kernels/layer_steps.h"

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
