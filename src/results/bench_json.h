// "moetune.bench/1": what `moetune bench --json` writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "kernels/plan.h"
#include "workload/workload.h"

namespace moetune {

struct BenchTime {
  double median = 0, p10 = 0, p90 = 0;
};

struct BenchRow {
  int tokens = 0;
  Plan plan;
  std::optional<BenchTime> gemm1, gemm2, pair, op, floor, baseline_pair;  // microseconds; absent: not measured
  bool valid = false;
  double rel_err = 0, worst_token_err = 0;
  std::string invalid_reason;
  double active_experts = 0, l2_ratio = 0;
  int samples = 0;
};

struct BenchFile {
  std::string device;
  Json environment;
  std::string command;
  Workload workload;
  std::uint64_t routing_seed = 0;
  std::string baseline_kernel;
  std::vector<BenchRow> rows;
};

// Bytes of both GEMMs' weights (without scales) that `active_experts` experts hold.
double pair_weight_bytes(const Workload& w, double active_experts);

Json to_json(const BenchFile& file);

}  // namespace moetune
