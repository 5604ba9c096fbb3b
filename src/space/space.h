// Search spaces: search_spaces/*.json.
//
//   {"format": "moetune.space/1", "name": "grouped_gemm", "note": "...",
//    "parameters": {"BLOCK_SIZE_M": [8, 16, ...], ...},
//    "constraints": [{"name": "stages fit shared memory", "outcome": "resources", "expression": "..."}],
//    "default": {"BLOCK_SIZE_M": 64, ...}}
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/outcome.h"
#include "space/config.h"
#include "space/expression.h"

namespace moetune {

struct Parameter {
  std::string name;
  std::vector<std::int64_t> values;
};

struct Constraint {
  std::string name;
  std::string expression;
  Outcome outcome = Outcome::constraints;  // or resources
};

struct Space {
  std::string name;
  std::string note;
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  Config default_config;

  std::int64_t points() const;  // product of the value counts
};

// Error(usage) names the file and the member at fault: unknown or missing members, a repeated value, an expression
// that does not compile, a default outside the space.
Space parse_space(const Json& json, const std::string& origin);
std::vector<std::string> space_names();     // the embedded ones
Space load_space(const std::string& name);  // an embedded space's name, or a path

struct Dropped {
  std::string constraint;
  Outcome outcome = Outcome::constraints;
  std::int64_t count = 0;
};

struct Enumeration {
  std::vector<Config> candidates;  // nested-loop order, the last parameter fastest
  std::vector<Dropped> dropped;    // by the first constraint that fails, in the space's order
};

// `variables`: the workload's, the token count's and the GPU's values by name (docs/spaces.md lists them).
Enumeration enumerate(const Space& space, const Variables& variables);

}  // namespace moetune
