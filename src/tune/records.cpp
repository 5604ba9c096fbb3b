#include "tune/records.h"

#include <algorithm>
#include <limits>
#include <map>

#include "kernels/family.h"
#include "results/record.h"

namespace moetune {
namespace {

constexpr const char* kEngineOrigin = "moetune's own kernels; an engine's Triton kernel may rank configs differently";
constexpr const char* kNativeOrigin = "moetune's own kernels";

struct Ranking {  // the members of TokenResult that one record is about
  const Choice TokenResult::*choice;
  const PlanTimes TokenResult::*times;
  bool plans;  // winners are plans, not configs
};

Json microseconds(const Summary& summary) {
  return {{"median", rounded(summary.median, 3)},
          {"p10", rounded(summary.p10, 3)},
          {"p90", rounded(summary.p90, 3)},
          {"cv", rounded(summary.cv, 4)},
          {"samples", summary.samples}};
}

Json ratio(const PairedRatio& ratio) {
  return {{"ratio", rounded(ratio.ratio, 4)}, {"band", {rounded(ratio.band.low, 4), rounded(ratio.band.high, 4)}}};
}

// Of the quantities that were measured.
Json times(const PlanTimes& times) {
  Json json = Json::object();
  const auto add = [&](const char* name, const Summary& summary) {
    if (summary.samples > 0) json[name] = microseconds(summary);
  };
  add("gemm1_us", times.gemm1);
  add("gemm2_us", times.gemm2);
  add("pair_us", times.pair);
  add("op_us", times.op);
  return json;
}

Json counts(const std::map<Outcome, int>& outcomes) {
  Json json = Json::object();
  for (const auto& [outcome, count] : outcomes) json[name_of(outcome)] = count;
  return json;
}

Json dropped(const std::vector<Dropped>& dropped) {
  Json json = Json::array();
  for (const Dropped& one : dropped) {
    json.push_back({{"constraint", one.constraint}, {"outcome", name_of(one.outcome)}, {"count", one.count}});
  }
  return json;
}

Json finalist(const Finalist& f, const Ranking& ranking) {
  Json json = Json::object();
  if (ranking.plans) {
    json["plan"] = to_json(f.plan);
  } else {
    json["config"] = to_json(f.config);
  }
  json["time_us"] = microseconds(f.time_us);
  json["to_baseline"] = ratio(f.to_baseline);
  return json;
}

// The accumulate modes of the plan's tuned families, each once.
std::string accumulate_mode(const Plan& plan) {
  std::string text;
  for (const PlanStep& step : plan.steps) {
    const std::string& mode = family(step.family).accumulate;
    if (mode.empty() || text.find(mode) != std::string::npos) continue;
    text += (text.empty() ? "" : "; ") + mode;
  }
  return text;
}

bool is_deterministic(const Plan& plan) {
  return std::all_of(plan.steps.begin(), plan.steps.end(),
                     [](const PlanStep& step) { return family(step.family).deterministic; });
}

// Finalists within the band of the fastest, the winner left out.
Json ties(const Choice& choice, const Ranking& ranking) {
  Json json = Json::array();
  for (const Finalist& f : choice.finalists) {
    if (!f.tied || f.plan == choice.winner.plan) continue;
    Json tie = finalist(f, ranking);
    tie["to_best"] = ratio(f.to_best);
    json.push_back(std::move(tie));
  }
  return json;
}

void add_winner(Json& json, const TokenResult& token, const Ranking& ranking) {
  const Choice& choice = token.*ranking.choice;
  if (!choice.found) {
    json["winner"] = nullptr;
    return;
  }
  Json winner = finalist(choice.winner, ranking);
  winner["ranked_by"] = name_of(choice.ranked_by);
  winner["is_baseline"] = choice.is_baseline;
  winner.update(times(token.*ranking.times));
  winner["validation"] = {{"outcome", name_of(choice.validation.outcome)},
                          {"rel_err", choice.validation.rel_err},
                          {"worst_token_err", choice.validation.worst_token_err},
                          {"exact_mismatches", choice.validation.exact_mismatches}};
  winner["accumulate"] = accumulate_mode(choice.winner.plan);
  winner["deterministic"] = is_deterministic(choice.winner.plan);
  json["winner"] = std::move(winner);
  json["ties"] = ties(choice, ranking);
}

Json token_record(const TokenResult& token, const Ranking& ranking) {
  Json json = Json::object();
  add_winner(json, token, ranking);
  json["baseline"] = {{"config", to_json(token.baseline)}, {"ran", token.baseline_ran}};
  json["baseline"].update(times(token.baseline_times));
  json["floor_us"] = token.floor_us.samples > 0 ? microseconds(token.floor_us) : Json();
  json["outcomes"] = counts(token.outcomes);
  json["dropped"] = dropped(token.dropped);
  json["worst_rel_err"] = token.worst_rel_err;
  if (!token.largest_error_plan.empty()) {
    json["wrong"] = {{"plan", token.largest_error_plan}, {"rel_err", token.largest_error}};
  }
  json["l2_ratio"] = rounded(token.problem.l2_ratio, 3);
  json["active_experts"] = rounded(token.problem.active_experts, 3);
  json["slots"] = rounded(token.problem.slots, 3);
  json["calls"] = token.problem.calls;
  json["weight_sets"] = token.problem.weight_sets;
  json["load_histogram"] = token.problem.load_histogram;
  json["seconds"] = rounded(token.seconds, 3);
  return json;
}

Json record(const RecordContext& context, const std::vector<TokenResult>& tokens, const char* origin,
            const Ranking& ranking) {
  std::map<Outcome, int> outcomes;
  double l2_ratio = std::numeric_limits<double>::infinity();
  for (const TokenResult& token : tokens) {
    for (const auto& [outcome, count] : token.outcomes) outcomes[outcome] += count;
    l2_ratio = std::min(l2_ratio, token.problem.l2_ratio);
  }
  // The header's members, under the record's own format.
  Json json = {{"format", kRecordFormat}, {"target", "native"}, {"kernel_origin", origin}};
  const Json header = make_journal_header(context.run);
  for (const auto& [name, value] : header.items()) {
    if (name != "format") json[name] = value;
  }
  json["replayed"] = context.replayed;
  json["interrupted"] = context.interrupted;
  json["tuning_wall_s"] = rounded(context.tuning_wall_s, 1);
  json["compile_seconds"] = rounded(context.compile_seconds, 1);
  json["gpu_seconds"] = rounded(context.gpu_seconds, 1);
  json["outcomes"] = counts(outcomes);
  json["l2_ratio"] = rounded(l2_ratio, 3);
  json["tokens"] = Json::object();
  for (const TokenResult& token : tokens) json["tokens"][std::to_string(token.tokens)] = token_record(token, ranking);
  return json;
}

}  // namespace

Json engine_record(const RecordContext& context, const std::vector<TokenResult>& tokens) {
  return record(context, tokens, kEngineOrigin, {&TokenResult::engine, &TokenResult::engine_times, false});
}

Json native_record(const RecordContext& context, const std::vector<TokenResult>& tokens) {
  return record(context, tokens, kNativeOrigin, {&TokenResult::native, &TokenResult::native_times, true});
}

EarlierRows earlier_rows(const Json& record, const RunIdentity& run) {
  const Workload before = workload_from_json(record.at("workload"));
  const std::string device = record.at("device").at("name").get<std::string>();
  EarlierRows earlier;
  if (before.dtype != run.workload.dtype) {
    // bf16 and fp16 layers share one engine file name.
    earlier.difference = std::string("holds winners of ") + name_of(before.dtype) + ", not of " +
                         name_of(run.workload.dtype) + " (the engine's name for the file does not tell them apart),";
  } else if (!(before == run.workload)) {
    earlier.difference = "holds winners of " + workload_slug(before) + ", not of " + workload_slug(run.workload) + ",";
  } else if (device != run.device.name) {
    earlier.difference = "holds winners of " + device + ", not of " + run.device.name + ",";
  } else if (record.at("kernel_digests") != Json(run.kernel_digests)) {
    earlier.difference = "holds winners of another version of the kernels";
  } else {
    earlier.rows = record.at("tokens");
  }
  return earlier;
}

Json with_earlier_rows(Json record, const Json& rows) {
  std::map<int, Json> all;
  for (const auto& [tokens, row] : record["tokens"].items()) all[std::stoi(tokens)] = row;
  Json earlier = Json::array();
  for (const auto& [tokens, row] : rows.items()) {
    if (all.emplace(std::stoi(tokens), row).second) earlier.push_back(std::stoi(tokens));
  }
  if (earlier.empty()) return record;
  record["tokens_of_earlier_runs"] = earlier;
  record.erase("tokens");  // comes last again
  for (const auto& [tokens, row] : all) record["tokens"][std::to_string(tokens)] = row;
  return record;
}

}  // namespace moetune
