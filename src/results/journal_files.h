// Where journals lie.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workload/workload.h"

namespace moetune {

// "kimi-k2-fp8_w8a8-tp4.native.jsonl": the journal of a workload and target, in a folder "journals" beside "native".
std::string journal_file_name(const Workload& w, const std::string& target = "native");

// The folders that hold results by device name, in the order looked at: ./results, the install's share folder
// (../share/moetune/results beside the binary's folder), MOETUNE_RESULTS_DIR when set.
std::vector<std::filesystem::path> results_folders();

// The journal that a replay device names, "replay:NAME|PATH" or without the "replay:". NAME: a device below a results
// folder (NAME/journals/<slug>.native.jsonl.gz, then .jsonl). PATH: a journal file, or a folder that holds that file
// or its "journals" folder. Error(usage) lists the places looked at and the workloads recorded there.
std::filesystem::path find_journal(const std::string& spec, const Workload& w);

// Devices with recorded journals below the results folders: name -> workloads ("kimi-k2-fp8_w8a8-tp4"), sorted.
struct RecordedDevice {
  std::string name;
  std::vector<std::string> workloads;
};
std::vector<RecordedDevice> recorded_devices();

}  // namespace moetune
