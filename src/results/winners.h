// The files people commit. Paths are built here and nowhere else.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "gpu/limits.h"
#include "kernels/plan.h"
#include "space/config.h"
#include "workload/workload.h"

namespace moetune {

// The device part of engine file names: runs of white space and '/' become '_'; a name with the member "H200" becomes
// "NVIDIA_H200".
std::string engine_device_name(const std::string& driver_name);

// "E=384,N=512,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json" (vLLM's grammar; bf16 and fp16 have
// no dtype part and so share a name).
std::string engine_file_name(const Workload& w, const std::string& driver_name);

// The engine file's text: token count -> config, ascending, indent 4, final newline, nothing else. Error(internal) for
// a config that lacks one of the engine's six parameters or has others: its loader would fail on them.
std::string engine_file_text(const std::map<int, Config>& winners);

// Token count -> config in the file's own order, which settles ties (a shipped vLLM file is not ascending).
using EngineFile = std::vector<std::pair<int, Config>>;

// Reads an engine file of vLLM or SGLang; "triton_version" is dropped, a missing num_warps or num_stages gets Triton's
// default (4, 3), true and false become 1 and 0, each config has the writer's parameter order. Error(usage) naming the
// member at fault.
EngineFile read_engine_file(const std::filesystem::path& path);

// The entry the engine would use for M: nearest key, ties to the one listed first. `file` has at least one entry.
int engine_key_for(const EngineFile& file, int tokens);
const Config& engine_config_for(const EngineFile& file, int tokens);

struct NativeWinner {
  Plan plan;
  double op_us = 0;
};

// "native/MODEL-DTYPE-tpN.json" (workload_slug), "moetune.winners/1".
std::string native_file_name(const Workload& w);
// Deterministic: the same winners give the same bytes. One plan step a line, so that diffs show what changed.
std::string native_file_text(const Workload& w, const std::string& device, const std::map<int, NativeWinner>& winners);

struct NativeFile {
  std::string device;
  Workload workload;
  std::map<int, NativeWinner> winners;
};
// Error(usage) naming the member at fault.
NativeFile read_native_file(const std::filesystem::path& path);

// NAME.json -> NAME.record.json
std::filesystem::path record_path(const std::filesystem::path& winners_file);

}  // namespace moetune
