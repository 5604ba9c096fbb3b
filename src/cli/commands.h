// One function a command; each returns the exit code and throws Error for what a user can mend.
#pragma once

#include <string>

#include "cli/options.h"

namespace moetune {

struct TuneArguments {
  WorkloadArguments workload;
  DeviceArguments device;
  std::string save_dir = ".";
  std::string arch;
  bool dry_run = false;
  bool fresh = false;
  std::string command_line;
};
ExitCode run_tune(const TuneArguments& arguments);
ExitCode run_dry(const TuneArguments& arguments);

struct BenchArguments {
  WorkloadArguments workload;
  DeviceArguments device;
  std::string config_file, winners_file, json_file;
  int rounds = 25;
  std::string command_line;
};
ExitCode run_bench(const BenchArguments& arguments);

ExitCode run_list(const std::string& what);

struct DoctorArguments {
  WorkloadArguments workload;
  DeviceArguments device;
  bool can_run = false;
  bool device_name = false;
};
ExitCode run_doctor(const DoctorArguments& arguments);

}  // namespace moetune
