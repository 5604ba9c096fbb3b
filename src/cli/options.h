// What the commands share on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>

#include "workload/model_config.h"
#include "workload/routing.h"

namespace moetune {

struct WorkloadArguments {
  WorkloadOptions workload;
  std::string tokens;  // empty: the default counts
  std::uint64_t seed = 0;
  std::string routing = "uniform";
  double skew = 1.0;
};

struct DeviceArguments {
  std::string device = "0";  // ordinal, or replay:NAME|PATH
  std::string nvrtc, cache_dir, data_dir;
  int compile_workers = 0;
};

void add_workload_options(CLI::App& app, WorkloadArguments& arguments);
void add_device_options(CLI::App& app, DeviceArguments& arguments);

// Error(usage) when neither --model nor all four sizes are given.
Workload workload_of(const WorkloadArguments& arguments);
RoutingSpec routing_of(const WorkloadArguments& arguments);
std::vector<int> tokens_of(const WorkloadArguments& arguments);

// What each option of add_workload_options and add_device_options means is in its help text; both are used by every
// command that takes a workload, so that a command line can be turned from one command into another.

// Points NVRTC, cache and data at the given places; before anything else uses them.
void apply(const DeviceArguments& arguments);
bool is_replay(const DeviceArguments& arguments);
int ordinal_of(const DeviceArguments& arguments);

// Error(usage) naming the folder and the option: said before an hour of work, not after it. Creates the folder.
void check_writable(const std::filesystem::path& folder, const char* option);

}  // namespace moetune
