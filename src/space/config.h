// A config: one point of a kernel family's space.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace moetune {

struct Config {
  std::vector<std::pair<std::string, std::int64_t>> values;  // in the space's parameter order

  bool empty() const { return values.empty(); }
  bool has(const std::string& name) const;
  std::int64_t at(const std::string& name) const;  // Error(internal) when absent
  void set(const std::string& name, std::int64_t value);
  bool operator==(const Config&) const = default;
};

// "BLOCK_SIZE_M=16,BLOCK_SIZE_N=64,..."
std::string key_of(const Config& config);
Json to_json(const Config& config);
Config config_from_json(const Json& json);  // Error(usage) when it is no object of integers

}  // namespace moetune
