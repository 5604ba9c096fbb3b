#include "space/config.h"

#include <algorithm>

#include "base/error.h"

namespace moetune {
namespace {

auto find(const Config& config, const std::string& name) {
  return std::find_if(config.values.begin(), config.values.end(),
                      [&](const auto& value) { return value.first == name; });
}

}  // namespace

bool Config::has(const std::string& name) const { return find(*this, name) != values.end(); }

std::int64_t Config::at(const std::string& name) const {
  const auto value = find(*this, name);
  if (value == values.end()) {
    throw Error(ExitCode::internal, "config '" + key_of(*this) + "' has no parameter '" + name + "'");
  }
  return value->second;
}

void Config::set(const std::string& name, std::int64_t value) {
  for (auto& [known, old] : values) {
    if (known == name) {
      old = value;
      return;
    }
  }
  values.emplace_back(name, value);
}

std::string key_of(const Config& config) {
  std::string key;
  for (const auto& [name, value] : config.values) {
    if (!key.empty()) key += ',';
    key += name;
    key += '=';
    key += std::to_string(value);
  }
  return key;
}

Json to_json(const Config& config) {
  Json json = Json::object();
  for (const auto& [name, value] : config.values) json[name] = value;
  return json;
}

Config config_from_json(const Json& json) {
  if (!json.is_object()) {
    throw Error(ExitCode::usage, std::string("a config must be an object of integers, found ") + json.type_name() +
                                     "; write e.g. {\"BLOCK_SIZE_M\": 64, ...}");
  }
  Config config;
  for (const auto& [name, value] : json.items()) {
    const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
    if (!value.is_number_integer() || too_large) {
      throw Error(ExitCode::usage,
                  "config member '" + name + "' is " + value.dump() + "; a config's values must be 64-bit integers");
    }
    config.set(name, value.get<std::int64_t>());
  }
  return config;
}

}  // namespace moetune
