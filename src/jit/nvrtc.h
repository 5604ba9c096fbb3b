// NVRTC, loaded at run time.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace moetune {

struct NvrtcFound {
  std::string path;  // as given to dlopen
  int major = 0, minor = 0;
  std::string version() const { return std::to_string(major) + "." + std::to_string(minor); }
};

// Sets the library (a file, or the folder that holds it) to use instead of searching, in this process and in workers
// started later (it sets MOETUNE_NVRTC; option --nvrtc). Call before anything else here.
void set_nvrtc_path(const std::string& path);

// Looks at the option or MOETUNE_NVRTC (when given, nothing else is tried), CUDA_HOME, CUDA_PATH, the folder of nvcc on
// PATH, /usr/local/cuda*, the dynamic loader's own paths, pip packages (site-packages/nvidia/*/lib); loads the first
// that works, once. `tried` receives one "path: reason" a failed place.
std::optional<NvrtcFound> find_nvrtc(std::vector<std::string>* tried = nullptr);

// As find_nvrtc, but throws Error(no_device) saying what was looked for and how to get it.
NvrtcFound require_nvrtc();

struct NvrtcProgramResult {
  bool ok = false;
  std::string log;
  std::string cubin;
  std::string lowered_name;
};

// One in-memory source with in-memory headers, to a cubin for options' -arch.
NvrtcProgramResult nvrtc_compile(const std::string& source, const std::string& name,
                                 const std::vector<std::pair<std::string, std::string>>& headers,
                                 const std::string& expression, const std::vector<std::string>& options);

// Targets this NVRTC takes ("sm_80", "sm_90a"): a plain compile of an empty kernel, answered once per arch.
bool nvrtc_supports(const std::string& arch);

}  // namespace moetune
