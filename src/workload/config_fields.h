// Where a Hugging Face config.json keeps the numbers of its MoE layer. Private to this layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workload/workload.h"

namespace moetune {

// The names one quantity goes by, most telling first: a config that has both moe_intermediate_size and
// intermediate_size keeps its dense layers' size in the second.
struct ConfigField {
  const char* option;  // the moetune option that gives it instead, without dashes
  std::vector<std::string> names;
};

const ConfigField& experts_field();
const ConfigField& topk_field();
const ConfigField& hidden_field();
const ConfigField& intermediate_field();

// The parts of the config that describe the text model, innermost first, the config itself among them.
std::vector<const Json*> config_scopes(const Json& config);

// The first whole number (or first element of a list of them) found under the field's names; scopes come before names.
std::optional<int> find_int(const std::vector<const Json*>& scopes, const ConfigField& field);

// The checkpoint's own numeric format.
struct CheckpointDtype {
  std::optional<Dtype> dtype;
  std::optional<Scales> scales;
  std::optional<BlockShape> block_shape;
  std::string unsupported;
};

CheckpointDtype find_dtype(const std::vector<const Json*>& scopes);

}  // namespace moetune
