// The journal's first line: what the events of a run hang on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "gpu/limits.h"
#include "workload/routing.h"
#include "workload/workload.h"

namespace moetune {

struct RunIdentity {
  GpuLimits device;
  Json environment = Json::object();  // Executor::environment()
  Workload workload;
  RoutingSpec routing;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> kernel_digests;  // family name -> digest of its sources
  std::string command_line;
};

// {"format":"moetune.journal/1","device":{..},"environment":{..},"workload":{..},"seed":..,"routing":{..},
//  "kernel_digests":{family:digest},"command_line":".."}
Json make_journal_header(const RunIdentity& run);

// Error(usage) for a missing or malformed member.
RunIdentity run_identity_from_header(const Json& header);

struct HeaderDifference {
  enum class Part { device, environment, workload, seed, routing, kernels };
  Part part;
  std::string text;  // one line: what was recorded, what is now
};

// What differs between a recorded header and the run of now. The command line may differ; of the environment only
// members with a text, whole number or truth value count (clocks and temperatures change from run to run). An empty
// list: the journal may be resumed.
std::vector<HeaderDifference> header_differences(const Json& recorded, const RunIdentity& now);

// For replay, `now` being what the user asked for: device and environment are the journal's own and not looked at.
// Throws Error(usage) when the workload or the routing differs. Returns one warning a differing kernel digest, and one
// for another seed (recorded samples are served all the same).
std::vector<std::string> check_replay_header(const Json& recorded, const RunIdentity& now);

}  // namespace moetune
