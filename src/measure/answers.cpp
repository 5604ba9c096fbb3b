#include "measure/answers.h"

namespace moetune {

namespace {

Json with_log(Json json, const std::string& log) {
  if (!log.empty()) json["log"] = log;
  return json;
}

}  // namespace

Json to_json(const ProblemAnswer& a) {
  return with_log({{"outcome", name_of(a.outcome)},
                   {"calls", a.calls},
                   {"weight_sets", a.weight_sets},
                   {"active_experts", a.active_experts},
                   {"slots", a.slots},
                   {"l2_ratio", a.l2_ratio},
                   {"load_histogram", a.load_histogram}},
                  a.log);
}

Json to_json(const ValidateAnswer& a) {
  return with_log({{"outcome", name_of(a.outcome)},
                   {"rel_err", a.rel_err},
                   {"worst_token_err", a.worst_token_err},
                   {"exact_mismatches", a.exact_mismatches}},
                  a.log);
}

Json to_json(const MeasureAnswer& a) {
  return with_log({{"outcome", name_of(a.outcome)}, {"samples_us", a.samples_us}}, a.log);
}

Json to_json(const MeasureRequest& r) {
  Json plans = Json::array();
  for (const Plan& plan : r.plans) plans.push_back(to_json(plan));
  return {{"quantity", name_of(r.quantity)},  {"plans", plans}, {"rounds", r.rounds},
          {"stop_above_us", r.stop_above_us}, {"seed", r.seed}, {"stage", r.stage}};
}

ProblemAnswer problem_answer_from_json(const Json& j) {
  ProblemAnswer a;
  a.outcome = outcome_from_name(j.at("outcome").get<std::string>());
  a.log = j.value("log", "");
  a.calls = j.value("calls", 0);
  a.weight_sets = j.value("weight_sets", 0);
  a.active_experts = j.value("active_experts", 0.0);
  a.slots = j.value("slots", 0.0);
  a.l2_ratio = j.value("l2_ratio", 0.0);
  a.load_histogram = j.value("load_histogram", std::vector<std::int64_t>());
  return a;
}

ValidateAnswer validate_answer_from_json(const Json& j) {
  ValidateAnswer a;
  a.outcome = outcome_from_name(j.at("outcome").get<std::string>());
  a.log = j.value("log", "");
  // A result with NaN has no finite error; JSON writes it as null.
  const auto number = [&](const char* name) {
    return j.contains(name) && j[name].is_number() ? j[name].get<double>() : 0.0;
  };
  a.rel_err = number("rel_err");
  a.worst_token_err = number("worst_token_err");
  a.exact_mismatches = j.value("exact_mismatches", std::int64_t{0});
  return a;
}

MeasureAnswer measure_answer_from_json(const Json& j) {
  MeasureAnswer a;
  a.outcome = outcome_from_name(j.at("outcome").get<std::string>());
  a.log = j.value("log", "");
  a.samples_us = j.value("samples_us", std::vector<std::vector<double>>());
  return a;
}

MeasureRequest measure_request_from_json(const Json& j) {
  MeasureRequest r;
  r.quantity = quantity_from_name(j.at("quantity").get<std::string>());
  for (const Json& plan : j.at("plans")) r.plans.push_back(plan_from_json(plan));
  r.rounds = j.at("rounds").get<int>();
  r.stop_above_us = j.at("stop_above_us").get<double>();
  r.seed = j.at("seed").get<std::uint64_t>();
  r.stage = j.at("stage").get<std::string>();
  return r;
}

}  // namespace moetune
