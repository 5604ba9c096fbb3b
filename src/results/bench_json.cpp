#include "results/bench_json.h"

#include <algorithm>

#include "results/record.h"

namespace moetune {

namespace {

Json us(const std::optional<BenchTime>& time) { return time ? rounded(time->median, 3) : Json(nullptr); }

Json spread(const BenchRow& row) {
  Json json = Json::object();
  const auto add = [&](const char* name, const std::optional<BenchTime>& time) {
    if (time) json[name] = {rounded(time->p10, 3), rounded(time->p90, 3)};
  };
  add("gemm1_us", row.gemm1);
  add("gemm2_us", row.gemm2);
  add("pair_us", row.pair);
  add("op_us", row.op);
  add("floor_us", row.floor);
  add("baseline_pair_us", row.baseline_pair);
  return json;
}

// The read chain of the row that reads most: what this GPU's memory gives a plain reader in this run.
Json read_ceiling(const BenchFile& file) {
  const BenchRow* most = nullptr;
  for (const BenchRow& row : file.rows) {
    if (row.floor && (most == nullptr || row.active_experts > most->active_experts)) most = &row;
  }
  if (most == nullptr) return nullptr;
  const double bytes = pair_weight_bytes(file.workload, most->active_experts);
  return {{"gbps", rounded(bytes / most->floor->median / 1e3, 1)}, {"bytes", static_cast<std::int64_t>(bytes)}};
}

}  // namespace

double pair_weight_bytes(const Workload& w, double active_experts) {
  return active_experts * 3.0 * w.shard() * w.hidden * w.element_bytes();
}

Json to_json(const BenchFile& file) {
  Json rows = Json::array();
  for (const BenchRow& row : file.rows) {
    Json json = {{"tokens", row.tokens},
                 {"gemm1_us", us(row.gemm1)},
                 {"gemm2_us", us(row.gemm2)},
                 {"pair_us", us(row.pair)},
                 {"op_us", us(row.op)},
                 {"floor_us", us(row.floor)},
                 {"baseline_pair_us", us(row.baseline_pair)},
                 {"baseline_kernel", file.baseline_kernel},
                 {"valid", row.valid},
                 {"rel_err", rounded(row.rel_err, 6)},
                 {"worst_token_err", rounded(row.worst_token_err, 6)},
                 {"routing_seed", file.routing_seed},
                 {"active_experts", rounded(row.active_experts, 2)},
                 {"l2_ratio", rounded(row.l2_ratio, 2)},
                 {"samples", row.samples},
                 {"plan", to_json(row.plan)},
                 {"p10_p90", spread(row)}};
    if (!row.valid) json["invalid_reason"] = row.invalid_reason;
    rows.push_back(json);
  }
  return {{"format", "moetune.bench/1"},
          {"device", file.device},
          {"environment", file.environment},
          {"command", file.command},
          {"workload", to_json(file.workload)},
          {"read_ceiling", read_ceiling(file)},
          {"rows", rows}};
}

}  // namespace moetune
