#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "gpu/driver.h"
#include "jit/cache.h"
#include "jit/nvrtc.h"
#include "kernels/family.h"
#include "results/journal_files.h"
#include "results/winners.h"
#include "tune/local_executor.h"

namespace moetune {

namespace {

namespace fs = std::filesystem;

constexpr int oldest_compute_capability = 80;

void line(const char* what, const std::string& text) { std::cout << fmt::format("{:<9} {}\n", what, text); }

bool report_gpu(int ordinal, const std::string& name) {
  try {
    const Device device(ordinal);
    const GpuLimits& l = device.limits();
    const bool supported = l.compute_capability >= oldest_compute_capability;
    line("GPU", fmt::format("{} {}, {}, {} SMs, {:.1f} GB ({:.1f} free){}", ordinal, l.name, l.arch, l.sm_count,
                            static_cast<double>(l.memory_bytes) / 1e9, static_cast<double>(device.free_memory()) / 1e9,
                            supported ? "" : ": too old, compute capability 8.0 or later is needed"));
    return supported;
  } catch (const std::exception& error) {
    line("GPU", fmt::format("{} {}: cannot be used: {}", ordinal, name, error.what()));
    return false;
  }
}

bool report_driver() {
  const DriverState state = driver_state();
  if (state.version > 0) {
    line("driver", fmt::format("takes CUDA up to {}.{}", state.version / 1000, state.version % 1000 / 10));
  } else {
    line("driver", state.problem.empty() ? "not usable" : state.problem);
    line("", "get it: install the NVIDIA driver; in a container, start it with the GPUs (docker run --gpus all)");
  }
  if (state.devices.empty()) {
    line("GPU", state.version > 0 ? "none: " + state.problem : "none without a driver");
    return false;
  }
  bool usable = false;
  for (std::size_t i = 0; i < state.devices.size(); ++i) {
    usable |= report_gpu(static_cast<int>(i), state.devices[i]);
  }
  return usable;
}

bool report_nvrtc() {
  std::vector<std::string> tried;
  const auto found = find_nvrtc(&tried);
  if (found) {
    line("NVRTC", found->version() + " at " + found->path);
    const DriverState state = driver_state();
    const std::string problem = state.version > 0 ? driver_too_old(state.version, found->major, found->minor) : "";
    if (!problem.empty()) line("", problem);
    return problem.empty();
  }
  line("NVRTC", "not found; tried:");
  for (const std::string& place : tried) line("", "  " + place);
  line("", "get it: install the CUDA Toolkit or the pip package nvidia-cuda-nvrtc, or pass --nvrtc PATH");
  return false;
}

void report_cache() {
  const fs::path folder = cache_folder();
  std::uintmax_t bytes = 0, kernels = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code unreadable;
    if (!it->is_regular_file(unreadable)) continue;
    const std::uintmax_t size = it->file_size(unreadable);
    if (!unreadable) bytes += size;
    kernels += it->path().extension() == ".cubin";
  }
  line("cache", fmt::format("{} ({} kernels, {:.1f} MB)", folder.string(), kernels, static_cast<double>(bytes) / 1e6));
}

void report_replay_devices() {
  const std::vector<RecordedDevice> devices = recorded_devices();
  for (const RecordedDevice& d : devices) line("replay", "--device replay:" + d.name + ": " + join(d.workloads, ", "));
  if (!devices.empty()) return;
  std::vector<std::string> folders;
  for (const fs::path& folder : results_folders()) folders.push_back(folder.string());
  line("replay", "no recorded GPU in " + join(folders, ", "));
}

bool has_workload(const WorkloadOptions& w) { return !w.model.empty() || w.experts || w.hidden || w.intermediate; }

bool can_run(const DoctorArguments& arguments) {
  // Wrong options are told of even where there is no GPU.
  const bool has = has_workload(arguments.workload.workload);
  const Workload w = has ? workload_of(arguments.workload) : Workload();
  const std::vector<int> tokens = tokens_of(arguments.workload);
  const int ordinal = ordinal_of(arguments.device);
  if (driver_state().devices.empty()) return false;
  const auto nvrtc = find_nvrtc();
  if (!nvrtc) return false;
  try {
    const Device device(ordinal);
    const GpuLimits& limits = device.limits();
    if (limits.compute_capability < oldest_compute_capability) return false;
    if (!driver_too_old(limits.driver_version, nvrtc->major, nvrtc->minor).empty()) return false;
    if (!has) return true;
    return family("grouped_gemm").unsupported(w, limits).empty() &&
           device_bytes_needed(w, *std::max_element(tokens.begin(), tokens.end()), 1) <= device.free_memory();
  } catch (const GpuError&) {
    return false;
  } catch (const Error& error) {
    if (error.code() != ExitCode::no_device) throw;
    return false;
  }
}

}  // namespace

ExitCode run_doctor(const DoctorArguments& arguments) {
  apply(arguments.device);
  if (arguments.can_run) return can_run(arguments) ? ExitCode::ok : ExitCode::no_device;
  if (arguments.device_name) {
    std::cout << engine_device_name(Device(ordinal_of(arguments.device)).limits().name) << '\n';
    return ExitCode::ok;
  }
  line("moetune", MOETUNE_VERSION);
  const bool gpu = report_driver();
  const bool nvrtc = report_nvrtc();
  report_cache();
  line("data",
       arguments.device.data_dir.empty() ? "kernels and spaces built into the binary" : arguments.device.data_dir);
  report_replay_devices();
  if (gpu && nvrtc) {
    std::cout << "Tuning can run here.\n";
    return ExitCode::ok;
  }
  std::cout << fmt::format("Tuning cannot run here: {} missing. A recorded GPU needs neither: --device replay:NAME\n",
                           gpu     ? "NVRTC is"
                           : nvrtc ? "a usable GPU is"
                                   : "a usable GPU and NVRTC are");
  return ExitCode::no_device;
}

}  // namespace moetune
