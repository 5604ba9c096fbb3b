// From a model's name or its config.json to the layer's sizes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "workload/workload.h"

namespace moetune {

// What a checkpoint says of its MoE layer. Unset members were not found.
struct ModelFacts {
  std::string name;          // preset name or folder name
  std::string origin;        // "preset" or the path read
  std::string architecture;  // architectures[0], may be empty
  std::optional<int> experts, topk, hidden, intermediate;
  std::optional<Dtype> dtype;    // the checkpoint's own
  std::optional<Scales> scales;  // set with fp8
  std::optional<BlockShape> block_shape;
  std::string unsupported;  // why the checkpoint's own dtype cannot be tuned (e.g. int4); empty when it can
};

// Presets (src/workload/models.json, embedded), sorted by name.
std::vector<ModelFacts> model_presets();

// `model` is a preset name or its checkpoint's id, a config.json, or a folder that holds one. Error(usage) with the
// nearest preset names, or when the file cannot be read. Fields that a config.json lacks stay unset.
ModelFacts find_model(const std::string& model);

// The facts of a parsed config.json: fields are probed by name (nested text_config, thinker_config.text_config,
// ffn_config; lists take element 0), not by a closed list of architectures.
ModelFacts facts_of_config(const Json& config, const std::string& name, const std::string& origin);

// Options that override the model's own facts.
struct WorkloadOptions {
  std::string model;  // may be empty when all four sizes are given
  std::optional<int> experts, topk, hidden, intermediate;
  std::optional<std::string> dtype;        // absent or "auto": the checkpoint's own
  std::optional<std::string> scales;       // block, channel, tensor
  std::optional<std::string> block_shape;  // "128,128" or "[128,128]"
  int tp = 1;
  std::optional<int> ep;  // 0: the same as tp
};

// Resolves and checks. Error(usage) says which field is missing, under which names it was looked for, and which option
// gives it. A size that differs from the model's own becomes part of the workload's name ("kimi-k2-e256"), so that
// results of a changed model never pass for the model's.
Workload make_workload(const WorkloadOptions& options);

}  // namespace moetune
