#include "workload/workload.h"

#include <utility>

#include "base/error.h"
#include "workload/names.h"

namespace moetune {
namespace {

constexpr std::pair<Dtype, const char*> kDtypes[] = {
    {Dtype::bf16, "bf16"},
    {Dtype::fp16, "fp16"},
    {Dtype::fp8_w8a8, "fp8_w8a8"},
};

constexpr std::pair<Scales, const char*> kScales[] = {
    {Scales::none, "none"},
    {Scales::tensor, "tensor"},
    {Scales::channel, "channel"},
    {Scales::block, "block"},
};

constexpr BlockShape kUsualBlock{128, 128};

template <typename Value, std::size_t count>
const char* name_in(const std::pair<Value, const char*> (&table)[count], Value value) {
  for (const auto& [known, name] : table) {
    if (known == value) return name;
  }
  throw Error(ExitCode::internal, "value " + std::to_string(static_cast<int>(value)) + " has no name");
}

template <typename Value, std::size_t count>
Value value_in(const std::pair<Value, const char*> (&table)[count], const std::string& what, const std::string& name) {
  std::vector<std::string> known_names;
  for (const auto& [value, known] : table) {
    if (name == known) return value;
    known_names.emplace_back(known);
  }
  throw Error(ExitCode::usage, unknown_name(what, name, known_names));
}

std::int64_t blocks(std::int64_t size, int block) { return (size + block - 1) / block; }

// One expert's [rows, columns] weights with their fp32 scales.
std::int64_t weight_bytes(const Workload& w, std::int64_t rows, std::int64_t columns) {
  std::int64_t scales = 0;
  switch (w.scales) {
    case Scales::none:
      break;
    case Scales::tensor:
      scales = 1;
      break;
    case Scales::channel:
      scales = rows;
      break;
    case Scales::block:
      scales = blocks(rows, w.block_shape->n) * blocks(columns, w.block_shape->k);
      break;
  }
  return rows * columns * w.element_bytes() + 4 * scales;
}

int int_at(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_number_integer()) throw Error(ExitCode::usage, std::string("workload: ") + key + " is no whole number");
  return value.get<int>();
}

}  // namespace

std::int64_t w1_bytes_per_expert(const Workload& w) { return weight_bytes(w, 2 * w.shard(), w.hidden); }

std::int64_t w2_bytes_per_expert(const Workload& w) { return weight_bytes(w, w.hidden, w.shard()); }

std::string workload_slug(const Workload& w) {
  std::string slug = safe_name(w.model) + "-" + name_of(w.dtype);
  if (w.ep == 1) {
    slug += "-tp" + std::to_string(w.tp);
  } else if (w.ep == w.tp) {
    slug += "-ep" + std::to_string(w.ep);
  } else {
    slug += "-tp" + std::to_string(w.tp) + "-ep" + std::to_string(w.ep);
  }
  if (w.scales == Scales::tensor || w.scales == Scales::channel) slug += std::string("-") + name_of(w.scales);
  if (w.block_shape && *w.block_shape != kUsualBlock) {
    slug += "-block" + std::to_string(w.block_shape->n) + "x" + std::to_string(w.block_shape->k);
  }
  return slug;
}

Json to_json(const Workload& w) {
  Json json;
  json["model"] = w.model;
  json["experts"] = w.experts;
  json["topk"] = w.topk;
  json["hidden"] = w.hidden;
  json["intermediate"] = w.intermediate;
  json["tp"] = w.tp;
  json["ep"] = w.ep;
  json["dtype"] = name_of(w.dtype);
  json["scales"] = name_of(w.scales);
  json["block_shape"] = w.block_shape ? Json::array({w.block_shape->n, w.block_shape->k}) : Json(nullptr);
  json["local_experts"] = w.local_experts();
  json["shard"] = w.shard();
  return json;
}

Workload workload_from_json(const Json& json) {
  Workload w;
  try {
    w.model = json.at("model").get<std::string>();
    w.experts = int_at(json, "experts");
    w.topk = int_at(json, "topk");
    w.hidden = int_at(json, "hidden");
    w.intermediate = int_at(json, "intermediate");
    w.tp = int_at(json, "tp");
    w.ep = int_at(json, "ep");
    w.dtype = dtype_from_name(json.at("dtype").get<std::string>());
    w.scales = scales_from_name(json.at("scales").get<std::string>());
    const Json block = json.value("block_shape", Json(nullptr));
    if (!block.is_null()) w.block_shape = BlockShape{block.at(0).get<int>(), block.at(1).get<int>()};
  } catch (const Json::exception& error) {
    throw Error(ExitCode::usage, std::string("not a workload: ") + error.what());
  }
  check_workload(w);
  return w;
}

const char* name_of(Dtype dtype) { return name_in(kDtypes, dtype); }
const char* name_of(Scales scales) { return name_in(kScales, scales); }
Dtype dtype_from_name(const std::string& name) { return value_in(kDtypes, "dtype", name); }
Scales scales_from_name(const std::string& name) { return value_in(kScales, "scales", name); }

}  // namespace moetune
