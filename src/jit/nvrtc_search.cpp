#include "jit/nvrtc_search.h"

#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

// The unversioned name is only in toolkits; pip packages and run-time packages have the versioned ones.
constexpr const char* kNames[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

std::vector<std::string> libraries_in(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const char* name : kNames) {
    if (fs::exists(folder / name, error)) files.push_back((folder / name).string());
  }
  return files;
}

NvrtcPlace toolkit(const std::string& name, const fs::path& root) {
  NvrtcPlace place{name, {}};
  for (const char* folder : {"lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib"}) {
    for (std::string& file : libraries_in(root / folder)) place.files.push_back(std::move(file));
  }
  return place;
}

NvrtcPlace named(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return {"named " + path, libraries_in(path)};
  return {"named " + path, {path}};
}

// The folder of `program` on PATH, or empty. `resolve` follows links (a nvcc in /usr/bin links into its toolkit; a
// Python in a virtual environment links out of it).
fs::path folder_on_path(const char* program, bool resolve) {
  for (const std::string& folder : split(environment("PATH"), ':')) {
    const fs::path path = fs::path(folder) / program;
    std::error_code error;
    if (folder.empty() || !fs::exists(path, error)) continue;
    const fs::path real = resolve ? fs::canonical(path, error) : path;
    return error ? path.parent_path() : real.parent_path();
  }
  return {};
}

NvrtcPlace pip_packages() {
  std::vector<std::string> roots;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) roots.push_back(environment(variable));
  roots.push_back(folder_on_path("python3", false).parent_path().string());
  if (const std::string home = environment("HOME"); !home.empty()) roots.push_back(home + "/.local");
  roots.insert(roots.end(), {"/usr/local", "/usr"});
  NvrtcPlace place{"pip packages", {}};
  for (const std::string& root : roots) {
    if (root.empty()) continue;
    // nvidia/cuda_nvrtc/lib (CUDA 12) and nvidia/cu13/lib.
    for (const std::string& folder : matches(root + "/lib/python3*/*-packages/nvidia/*/lib")) {
      for (std::string& file : libraries_in(folder)) place.files.push_back(std::move(file));
    }
  }
  return place;
}

}  // namespace

std::vector<NvrtcPlace> nvrtc_places() {
  // A library that was asked for by name and does not load is an error, not a reason to take another.
  if (const std::string path = environment("MOETUNE_NVRTC"); !path.empty()) return {named(path)};
  std::vector<NvrtcPlace> places;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"}) {
    const std::string root = environment(variable);
    if (!root.empty()) places.push_back(toolkit(std::string(variable) + " " + root, root));
  }
  if (const fs::path folder = folder_on_path("nvcc", true); !folder.empty()) {
    places.push_back(toolkit("nvcc in " + folder.string(), folder.parent_path()));
  }
  std::vector<std::string> toolkits = matches("/usr/local/cuda*");
  // "cuda" is the version that the administrator chose; after it the newest first.
  std::sort(toolkits.begin(), toolkits.end(), std::greater<>());
  std::stable_partition(toolkits.begin(), toolkits.end(), [](const auto& path) { return path == "/usr/local/cuda"; });
  for (const std::string& root : toolkits) places.push_back(toolkit(root, root));
  places.push_back({"the dynamic loader", {std::begin(kNames), std::end(kNames)}});
  places.push_back(pip_packages());
  return places;
}

}  // namespace moetune
