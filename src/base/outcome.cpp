#include "base/outcome.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace moetune {
namespace {

constexpr std::pair<Outcome, const char*> kNames[] = {
    {Outcome::ok, "ok"},
    {Outcome::constraints, "constraints"},
    {Outcome::resources, "resources"},
    {Outcome::compile, "compile"},
    {Outcome::launch, "launch"},
    {Outcome::memory, "memory"},
    {Outcome::timeout, "timeout"},
    {Outcome::crash, "crash"},
    {Outcome::wrong, "wrong"},
    {Outcome::unstable, "unstable"},
    {Outcome::unrecorded, "unrecorded"},
};

}  // namespace

const char* name_of(Outcome outcome) {
  for (const auto& [value, name] : kNames) {
    if (value == outcome) return name;
  }
  throw Error(ExitCode::internal, "outcome " + std::to_string(static_cast<int>(outcome)) + " has no name");
}

Outcome outcome_from_name(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [value, known_name] : kNames) {
    if (name == known_name) return value;
    known.emplace_back(known_name);
  }
  throw Error(ExitCode::usage, "unknown outcome '" + name + "'; known are " + join(known, ", "));
}

}  // namespace moetune
