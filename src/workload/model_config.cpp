#include "workload/model_config.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "jit/embedded.h"
#include "workload/config_fields.h"
#include "workload/names.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPresetFile = "src/workload/models.json";

Json parse_json(const std::string& text, const std::string& path) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw Error(ExitCode::usage, path + " is no valid JSON (at byte " + std::to_string(error.byte) +
                                     "); pass a Hugging Face config.json");
  }
}

ModelFacts facts_of_preset(const Json& preset) {
  ModelFacts facts;
  facts.name = preset.at("name").get<std::string>();
  facts.origin = "preset";
  facts.architecture = preset.at("architecture").get<std::string>();
  facts.experts = preset.at("experts").get<int>();
  facts.topk = preset.at("topk").get<int>();
  facts.hidden = preset.at("hidden").get<int>();
  facts.intermediate = preset.at("intermediate").get<int>();
  facts.unsupported = preset.value("unsupported", "");
  if (preset.contains("dtype")) facts.dtype = dtype_from_name(preset["dtype"].get<std::string>());
  if (preset.contains("block_shape")) {
    facts.block_shape = BlockShape{preset["block_shape"].at(0).get<int>(), preset["block_shape"].at(1).get<int>()};
  }
  if (facts.dtype == Dtype::fp8_w8a8) facts.scales = facts.block_shape ? Scales::block : Scales::tensor;
  return facts;
}

struct Preset {
  ModelFacts facts;
  std::string checkpoint;  // the id its sizes come from
};

std::vector<Preset> load_presets() {
  const Json entries = parse_json(embedded_file(kPresetFile), kPresetFile);
  std::vector<Preset> presets;
  try {
    for (const Json& entry : entries) presets.push_back({facts_of_preset(entry), entry.at("checkpoint")});
  } catch (const Json::exception& error) {
    throw Error(ExitCode::usage,
                std::string(kPresetFile) + ": preset " + std::to_string(presets.size()) + ": " + error.what());
  }
  std::sort(presets.begin(), presets.end(), [](const auto& a, const auto& b) { return a.facts.name < b.facts.name; });
  return presets;
}

// A model cache keeps a checkpoint as models--OWNER--NAME/snapshots/REVISION: the name is three folders up.
std::string folder_name(const fs::path& folder) {
  const std::string grandparent = folder.parent_path().parent_path().filename().string();
  if (folder.parent_path().filename() == "snapshots" && grandparent.starts_with("models--")) {
    return grandparent.substr(grandparent.rfind("--") + 2);
  }
  return folder.filename().string();
}

std::string name_of_config(const fs::path& path) {
  std::error_code ignored;
  const fs::path full = fs::absolute(path, ignored).lexically_normal();
  return safe_name(full.filename() == "config.json" ? folder_name(full.parent_path()) : full.stem().string());
}

[[noreturn]] void fail_unknown(const std::string& model, const std::vector<Preset>& presets) {
  std::vector<std::string> names;
  for (const Preset& preset : presets) names.push_back(preset.facts.name);
  const std::string last_part = model.substr(model.rfind('/') + 1);
  throw Error(ExitCode::usage, "unknown model '" + model + "': no preset of that name (nearest: " +
                                   join(nearest_names(last_part, names), ", ") +
                                   ") and no such file or folder; pass a preset or the path of a config.json");
}

fs::path config_path(const std::string& model, const std::vector<Preset>& presets) {
  const fs::path path = model;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) fail_unknown(model, presets);
  if (!fs::is_directory(path, ignored)) return path;
  if (fs::exists(path / "config.json", ignored)) return path / "config.json";
  throw Error(ExitCode::usage, "folder " + model + " holds no config.json; pass a folder or file that has one");
}

}  // namespace

std::vector<ModelFacts> model_presets() {
  std::vector<ModelFacts> facts;
  for (Preset& preset : load_presets()) facts.push_back(std::move(preset.facts));
  return facts;
}

ModelFacts find_model(const std::string& model) {
  const std::vector<Preset> presets = load_presets();
  for (const Preset& preset : presets) {
    if (model == preset.facts.name || model == preset.checkpoint) return preset.facts;
  }
  const fs::path path = config_path(model, presets);
  return facts_of_config(parse_json(read_file(path), path.string()), name_of_config(path), path.string());
}

ModelFacts facts_of_config(const Json& config, const std::string& name, const std::string& origin) {
  if (!config.is_object()) {
    throw Error(ExitCode::usage, origin + " holds no JSON object; pass a Hugging Face config.json");
  }
  ModelFacts facts;
  facts.name = name;
  facts.origin = origin;
  const Json architectures = config.value("architectures", Json::array());
  if (architectures.is_array() && !architectures.empty() && architectures[0].is_string()) {
    facts.architecture = architectures[0].get<std::string>();
  }
  const std::vector<const Json*> scopes = config_scopes(config);
  facts.experts = find_int(scopes, experts_field());
  facts.topk = find_int(scopes, topk_field());
  facts.hidden = find_int(scopes, hidden_field());
  facts.intermediate = find_int(scopes, intermediate_field());
  const CheckpointDtype own = find_dtype(scopes);
  facts.dtype = own.dtype;
  facts.scales = own.scales;
  facts.block_shape = own.block_shape;
  facts.unsupported = own.unsupported;
  return facts;
}

}  // namespace moetune
