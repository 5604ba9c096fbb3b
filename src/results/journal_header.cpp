#include "results/journal_header.h"

#include "results/json_fields.h"

namespace moetune {
namespace {

using Part = HeaderDifference::Part;

std::string recorded_and_now(const std::string& what, const Json& recorded, const Json& now) {
  return what + ": recorded " + recorded.dump() + ", now " + now.dump();
}

bool is_steady(const Json& value) {
  return value.is_string() || value.is_number_integer() || value.is_boolean() || value.is_null();
}

// One line a member that differs.
void compare_members(const std::string& what, Part part, const Json& recorded, const Json& now,
                     std::vector<HeaderDifference>& differences) {
  const auto differ = [&](const std::string& name, const Json& before, const Json& after) {
    if (before != after && is_steady(before) && is_steady(after)) {
      differences.push_back({part, recorded_and_now(what + " " + name, before, after)});
    }
  };
  for (const auto& [name, value] : recorded.items()) {
    differ(name, value, now.contains(name) ? now[name] : Json());
  }
  for (const auto& [name, value] : now.items()) {
    if (!recorded.contains(name)) differ(name, Json(), value);
  }
}

const Json& member(const Json& header, const char* name) {
  static const Json empty = Json::object();
  const auto found = header.find(name);
  return found == header.end() ? empty : *found;
}

}  // namespace

Json make_journal_header(const RunIdentity& run) {
  Json header = {{"format", "moetune.journal/1"}};
  header["device"] = to_json(run.device);
  header["environment"] = run.environment;
  header["environment"].erase("kernel_digests");  // stand below, for every family
  header["workload"] = to_json(run.workload);
  header["seed"] = run.seed;
  header["routing"] = to_json(run.routing);
  header["kernel_digests"] = Json::object();
  for (const auto& [family, digest] : run.kernel_digests) header["kernel_digests"][family] = digest;
  header["command_line"] = run.command_line;
  return header;
}

RunIdentity run_identity_from_header(const Json& header) {
  return at_place(JsonPlace("journal header"), [&] {
    RunIdentity run;
    run.device = gpu_limits_from_json(header.at("device"));
    run.environment = header.value("environment", Json::object());
    run.workload = workload_from_json(header.at("workload"));
    run.routing = routing_spec_from_json(header.at("routing"));
    run.seed = header.at("seed").get<std::uint64_t>();
    for (const auto& [family, digest] : member(header, "kernel_digests").items()) {
      run.kernel_digests[family] = digest.get<std::string>();
    }
    run.command_line = header.value("command_line", std::string());
    return run;
  });
}

std::vector<HeaderDifference> header_differences(const Json& recorded, const RunIdentity& now) {
  const Json current = make_journal_header(now);
  std::vector<HeaderDifference> differences;
  const auto whole = [&](const char* name, Part part) {
    if (member(recorded, name) != current[name]) {
      differences.push_back({part, recorded_and_now(name, member(recorded, name), current[name])});
    }
  };
  whole("workload", Part::workload);
  whole("routing", Part::routing);
  whole("seed", Part::seed);
  compare_members("device", Part::device, member(recorded, "device"), current["device"], differences);
  compare_members("environment", Part::environment, member(recorded, "environment"), current["environment"],
                  differences);
  compare_members("kernel family", Part::kernels, member(recorded, "kernel_digests"), current["kernel_digests"],
                  differences);
  return differences;
}

std::vector<std::string> check_replay_header(const Json& recorded, const RunIdentity& now) {
  std::vector<std::string> warnings;
  for (const HeaderDifference& difference : header_differences(recorded, now)) {
    switch (difference.part) {
      case Part::device:
      case Part::environment:
        break;
      case Part::workload:
      case Part::routing:
        throw Error(ExitCode::usage, "the journal holds another run; " + difference.text +
                                         "; name a journal of this workload, or give the recorded options");
      case Part::seed:
        warnings.push_back(difference.text + "; the recorded samples are served all the same");
        break;
      case Part::kernels:
        warnings.push_back(difference.text + "; the recorded times are of other kernels");
        break;
    }
  }
  return warnings;
}

}  // namespace moetune
