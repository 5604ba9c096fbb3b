// The executor behind --device: a GPU here, or a journal.
#pragma once

#include <filesystem>
#include <memory>

#include "cli/options.h"
#include "tune/recorded_executor.h"

namespace moetune {

struct OpenedDevice {
  std::unique_ptr<RecordedExecutor> executor;
  RunIdentity run;
  bool replayed = false;
  bool resumed = false;
};

// Replay: finds and checks the journal, prints its warnings to stderr. A GPU: `journal` is written, and resumed when it
// belongs to the same run and `fresh` is not set.
OpenedDevice open_device(const DeviceArguments& device, const WorkloadArguments& arguments, const Workload& workload,
                         const std::filesystem::path& journal, int max_tokens, bool fresh,
                         const std::string& command_line);

}  // namespace moetune
