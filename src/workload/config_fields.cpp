#include "workload/config_fields.h"

#include <limits>

namespace moetune {
namespace {

// Paths below the root. The last ones are parts that hold only some of the fields.
const std::vector<std::vector<std::string>>& scope_paths() {
  static const std::vector<std::vector<std::string>> paths = {
      {"thinker_config", "text_config"}, {"text_config"}, {"llm_config"}, {"language_config"}, {}, {"ffn_config"},
  };
  return paths;
}

const Json* member(const Json& object, const std::string& name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::optional<int> whole_number(const Json& value) {
  const Json& number = value.is_array() && !value.empty() ? value.front() : value;
  if (!number.is_number_integer()) return std::nullopt;
  const auto wide = number.get<std::int64_t>();
  if (wide < 1 || wide > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(wide);
}

}  // namespace

const ConfigField& experts_field() {
  static const ConfigField field{"experts",
                                 {"n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts"}};
  return field;
}

const ConfigField& topk_field() {
  static const ConfigField field{"topk",
                                 {"num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_topk",
                                  "moe_top_k", "moe_k", "experts_per_token"}};
  return field;
}

const ConfigField& hidden_field() {
  // With moe_latent_size the routed experts work on vectors of that size, not on the model's.
  static const ConfigField field{"hidden", {"moe_latent_size", "hidden_size", "d_model"}};
  return field;
}

const ConfigField& intermediate_field() {
  static const ConfigField field{
      "intermediate",
      {"moe_intermediate_size", "expert_hidden_dim", "expert_ffn_hidden_size", "ffn_hidden_size", "intermediate_size"}};
  return field;
}

std::vector<const Json*> config_scopes(const Json& config) {
  std::vector<const Json*> scopes;
  for (const auto& path : scope_paths()) {
    const Json* scope = &config;
    for (const std::string& name : path) scope = scope != nullptr ? member(*scope, name) : nullptr;
    if (scope != nullptr && scope->is_object()) scopes.push_back(scope);
  }
  return scopes;
}

std::optional<int> find_int(const std::vector<const Json*>& scopes, const ConfigField& field) {
  for (const Json* scope : scopes) {
    for (const std::string& name : field.names) {
      const Json* value = member(*scope, name);
      if (value == nullptr) continue;
      if (const auto number = whole_number(*value)) return number;
    }
  }
  return std::nullopt;
}

}  // namespace moetune
