#include "results/winners.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "results/json_fields.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

// What every entry has, in the order the engine's own tuner writes it.
constexpr std::array kParameters = {"BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K",
                                    "GROUP_SIZE_M", "num_warps",    "num_stages"};
// What shipped files have besides: ROCm's, split K (forced to 1 by the kernels tuned here), SGLang's.
constexpr std::array kOptional = {"waves_per_eu", "matrix_instr_nonkdim", "kpack", "SPLIT_K", "USE_TMA"};

constexpr const char* kNativeFormat = "moetune.winners/1";

Config config_of_entry(const Json& entry, const JsonPlace& place) {
  if (!entry.is_object()) place.fail("must be an object, found " + shown(entry));
  std::vector<std::string> known(kParameters.begin(), kParameters.end());
  known.insert(known.end(), kOptional.begin(), kOptional.end());
  for (const auto& [name, value] : entry.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      place.member(name).fail("is no parameter of the engine's kernel; nearest: " +
                              join(nearest_names(name, known), ", "));
    }
    if (!value.is_number_integer() && !value.is_boolean()) {
      place.member(name).fail("must be an integer, found " + shown(value));
    }
  }
  Config config;
  for (const std::string& name : known) {
    const auto found = entry.find(name);
    if (found != entry.end()) {
      config.set(name, found->is_boolean() ? std::int64_t{found->get<bool>()} : found->get<std::int64_t>());
    } else if (name == "num_warps" || name == "num_stages") {
      config.set(name, name == "num_warps" ? 4 : 3);
    } else if (std::find(kParameters.begin(), kParameters.end(), name) != kParameters.end()) {
      place.fail("lacks " + name);
    }
  }
  for (const char* name : kParameters) {
    if (config.at(name) < 1) place.member(name).fail("must be at least 1, found " + std::to_string(config.at(name)));
  }
  return config;
}

Json engine_entry(const Config& config) {
  Json entry = Json::object();
  for (const char* name : kParameters) entry[name] = config.at(name);
  if (entry.size() != config.values.size()) {
    throw Error(ExitCode::internal, "config " + key_of(config) + " has parameters that the engine's loader refuses");
  }
  return entry;
}

}  // namespace

std::string engine_device_name(const std::string& driver_name) {
  std::string name;
  bool in_gap = false;
  for (const char c : driver_name) {
    const bool gap = c == '/' || std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!gap) name += c;
    if (gap && !in_gap) name += '_';
    in_gap = gap;
  }
  const std::vector<std::string> members = split(name, '_');
  return std::find(members.begin(), members.end(), "H200") != members.end() ? "NVIDIA_H200" : name;
}

std::string engine_file_name(const Workload& w, const std::string& driver_name) {
  std::string name = "E=" + std::to_string(w.local_experts()) + ",N=" + std::to_string(w.shard()) +
                     ",device_name=" + engine_device_name(driver_name);
  if (w.dtype == Dtype::fp8_w8a8) name += ",dtype=fp8_w8a8";
  if (w.block_shape) {
    name += ",block_shape=[" + std::to_string(w.block_shape->n) + "," + std::to_string(w.block_shape->k) + "]";
  }
  return name + ".json";
}

std::string engine_file_text(const std::map<int, Config>& winners) {
  Json file = Json::object();
  for (const auto& [tokens, config] : winners) file[std::to_string(tokens)] = engine_entry(config);
  return file.dump(4) + "\n";
}

EngineFile read_engine_file(const fs::path& path) {
  const JsonPlace top("engine file " + path.string());
  const Json json = parse_json_file(path, top);
  if (!json.is_object()) top.fail("must be an object of token counts, found " + shown(json));
  EngineFile file;
  for (const auto& [key, entry] : json.items()) {
    if (key == "triton_version") continue;
    const int tokens = token_count_of(key, top);
    file.emplace_back(tokens, config_of_entry(entry, top.member(key)));
  }
  if (file.empty()) top.fail("holds no token count");
  return file;
}

int engine_key_for(const EngineFile& file, int tokens) {
  if (file.empty()) throw Error(ExitCode::internal, "an engine file without entries");
  const auto distance = [tokens](int key) { return std::abs(static_cast<long>(key) - tokens); };
  return std::min_element(file.begin(), file.end(),
                          [&](const auto& a, const auto& b) { return distance(a.first) < distance(b.first); })
      ->first;
}

const Config& engine_config_for(const EngineFile& file, int tokens) {
  const int key = engine_key_for(file, tokens);
  return std::find_if(file.begin(), file.end(), [key](const auto& entry) { return entry.first == key; })->second;
}

std::string native_file_name(const Workload& w) { return "native/" + workload_slug(w) + ".json"; }

std::string native_file_text(const Workload& w, const std::string& device, const std::map<int, NativeWinner>& winners) {
  std::string text = "{\n  \"format\": " + Json(kNativeFormat).dump() + ",\n  \"device\": " + Json(device).dump() +
                     ",\n  \"workload\": " + to_json(w).dump() + ",\n  \"winners\": {";
  const char* separator = "\n";
  for (const auto& [tokens, winner] : winners) {
    text += separator;
    text += "    \"" + std::to_string(tokens) + "\": {\n      \"op_us\": " + Json(winner.op_us).dump() +
            ",\n      \"plan\": [";
    const char* step_separator = "\n";
    for (const Json& step : to_json(winner.plan)) {
      text += step_separator;
      text += "        " + step.dump();
      step_separator = ",\n";
    }
    text += "\n      ]\n    }";
    separator = ",\n";
  }
  return text + (winners.empty() ? "}\n}\n" : "\n  }\n}\n");
}

NativeFile read_native_file(const fs::path& path) {
  const JsonPlace top("winners file " + path.string());
  const Json json = parse_json_file(path, top);
  require_format(json, kNativeFormat, top);
  NativeFile file;
  file.device = required(json, "device", Json::value_t::string, top).get<std::string>();
  file.workload = at_place(top.member("workload"),
                           [&] { return workload_from_json(required(json, "workload", Json::value_t::object, top)); });
  for (const auto& [key, entry] : required(json, "winners", Json::value_t::object, top).items()) {
    const JsonPlace place = top.member("winners").member(key);
    if (!entry.is_object()) place.fail("must be an object, found " + shown(entry));
    NativeWinner winner;
    const auto op_us = entry.find("op_us");
    if (op_us == entry.end() || !op_us->is_number()) place.fail("needs a number \"op_us\"");
    winner.op_us = op_us->get<double>();
    winner.plan = at_place(place.member("plan"),
                           [&] { return plan_from_json(required(entry, "plan", Json::value_t::array, place)); });
    file.winners[token_count_of(key, top.member("winners"))] = std::move(winner);
  }
  return file;
}

fs::path record_path(const fs::path& winners_file) {
  fs::path path = winners_file;
  return path.replace_extension(".record.json");
}

}  // namespace moetune
