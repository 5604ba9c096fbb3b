#include "kernels/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace moetune {

namespace {

constexpr std::array<std::pair<Step, const char*>, 6> step_names{{{Step::quantise, "quantise"},
                                                                  {Step::sort, "sort"},
                                                                  {Step::gemm1, "gemm1"},
                                                                  {Step::activation, "activation"},
                                                                  {Step::gemm2, "gemm2"},
                                                                  {Step::combine, "combine"}}};

std::string names_of(const std::vector<Step>& steps) {
  std::vector<std::string> names;
  for (const Step step : steps) names.emplace_back(name_of(step));
  return join(names, ",");
}

}  // namespace

const char* name_of(Step step) {
  for (const auto& [value, name] : step_names) {
    if (value == step) return name;
  }
  return "?";
}

Step step_from_name(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [value, text] : step_names) {
    if (name == text) return value;
    names.emplace_back(text);
  }
  throw Error(ExitCode::usage, "unknown step '" + name + "'; the steps are " + join(names, ", "));
}

std::string key_of(const Plan& plan) {
  std::vector<PlanStep> tuned;
  for (const PlanStep& step : plan.steps) {
    if (step.config.empty()) continue;
    const auto same = std::find_if(tuned.begin(), tuned.end(), [&](const PlanStep& other) {
      return other.family == step.family && other.config == step.config;
    });
    if (same == tuned.end()) {
      tuned.push_back(step);
    } else {
      same->steps.insert(same->steps.end(), step.steps.begin(), step.steps.end());
    }
  }
  std::vector<std::string> parts;
  for (const PlanStep& step : tuned) {
    parts.push_back(step.family + "(" + names_of(step.steps) + ")" + key_of(step.config));
  }
  return join(parts, ";");
}

Json to_json(const Plan& plan) {
  Json json = Json::array();
  for (const PlanStep& step : plan.steps) {
    Json names = Json::array();
    for (const Step one : step.steps) names.push_back(name_of(one));
    Json entry = {{"steps", names}, {"family", step.family}};
    if (!step.config.empty()) entry["config"] = to_json(step.config);
    json.push_back(entry);
  }
  return json;
}

Plan plan_from_json(const Json& json) {
  if (!json.is_array()) throw Error(ExitCode::usage, "a plan must be a list of steps, found " + json.dump());
  Plan plan;
  for (const Json& entry : json) {
    if (!entry.is_object() || !entry.contains("steps") || !entry["steps"].is_array() || entry["steps"].empty() ||
        !entry.contains("family") || !entry["family"].is_string()) {
      throw Error(ExitCode::usage, "a plan's step needs \"steps\" and \"family\", found " + entry.dump());
    }
    PlanStep step;
    for (const Json& name : entry["steps"]) {
      if (!name.is_string()) throw Error(ExitCode::usage, "a step's name must be text, found " + name.dump());
      step.steps.push_back(step_from_name(name.get<std::string>()));
    }
    step.family = entry["family"].get<std::string>();
    if (entry.contains("config")) step.config = config_from_json(entry["config"]);
    plan.steps.push_back(step);
  }
  return plan;
}

}  // namespace moetune
