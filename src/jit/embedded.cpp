#include "jit/embedded.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "jit/embedded_data.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> data_folder() {
  const char* folder = std::getenv("MOETUNE_DATA_DIR");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  return fs::path(folder);
}

// The same choice as cmake/embed.cmake; models.json is the only file outside these two folders.
bool is_data(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".cu" || extension == ".cuh" || extension == ".json";
}

std::vector<std::string> paths_in(const fs::path& folder) {
  std::vector<std::string> paths;
  for (const char* part : {"kernels", "search_spaces"}) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(folder / part, error), end; !error && it != end; it.increment(error)) {
      if (it->is_regular_file(error) && is_data(it->path())) {
        paths.push_back(it->path().lexically_relative(folder).generic_string());
      }
    }
  }
  std::error_code error;
  const char* presets = "src/workload/models.json";
  if (fs::exists(folder / presets, error)) paths.emplace_back(presets);
  return paths;
}

std::vector<std::string> built_in_paths() {
  std::vector<std::string> paths;
  for (unsigned i = 0; i < embedded_data_count; ++i) paths.emplace_back(embedded_data[i].path);
  return paths;
}

}  // namespace

void set_data_folder(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw Error(ExitCode::usage,
                "data folder " + folder + " is not a folder; give one that holds kernels/ and search_spaces/");
  }
  ::setenv("MOETUNE_DATA_DIR", fs::absolute(folder).c_str(), 1);
}

std::string embedded_file(std::string_view path) {
  if (const auto folder = data_folder()) return read_file(*folder / path);
  for (unsigned i = 0; i < embedded_data_count; ++i) {
    if (path == embedded_data[i].path) return std::string(embedded_data[i].text, embedded_data[i].bytes);
  }
  throw Error(ExitCode::internal, "no file " + std::string(path) + " is built into this binary");
}

std::vector<std::string> embedded_files(std::string_view prefix) {
  const auto folder = data_folder();
  std::vector<std::string> paths = folder ? paths_in(*folder) : built_in_paths();
  std::erase_if(paths, [&](const std::string& path) { return !path.starts_with(prefix); });
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace moetune
