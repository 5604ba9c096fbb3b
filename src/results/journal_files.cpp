#include "results/journal_files.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/process.h"
#include "base/text.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "replay:";
constexpr const char* kEndings[] = {".native.jsonl.gz", ".native.jsonl"};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  return entries;
}

// Workloads with a journal in one of the folders, sorted.
std::vector<std::string> workloads_in(const std::vector<fs::path>& folders) {
  std::set<std::string> found;
  for (const fs::path& folder : folders) {
    for (const fs::path& entry : entries_of(folder)) {
      const std::string name = entry.filename().string();
      for (const std::string ending : kEndings) {
        if (name.size() > ending.size() && name.ends_with(ending)) {
          found.insert(name.substr(0, name.size() - ending.size()));
        }
      }
    }
  }
  return {found.begin(), found.end()};
}

// Folders that can hold the journals of the device or path, in the order looked at.
std::vector<fs::path> journal_folders(const std::string& name) {
  std::vector<fs::path> folders;
  if (is_folder(name)) folders = {fs::path(name), fs::path(name) / "journals"};
  if (name.find('/') != std::string::npos) return folders;
  for (const fs::path& results : results_folders()) folders.push_back(results / name / "journals");
  return folders;
}

std::string list(const std::vector<std::string>& names) { return names.empty() ? "none" : join(names, ", "); }

[[noreturn]] void fail_not_found(const std::string& name, const std::string& slug,
                                 const std::vector<fs::path>& folders) {
  std::vector<std::string> places;
  for (const fs::path& folder : folders) places.push_back((folder / (slug + kEndings[0])).string() + " (or .jsonl)");
  std::string message = "no journal of " + slug + " for replay device '" + name + "'; looked at " +
                        (places.empty() ? name + ", which does not exist" : join(places, ", "));
  const std::vector<std::string> workloads = workloads_in(folders);
  if (!workloads.empty()) throw Error(ExitCode::usage, message + "; recorded there: " + list(workloads));
  std::vector<std::string> devices;
  for (const RecordedDevice& device : recorded_devices()) {
    devices.push_back(device.name + " (" + list(device.workloads) + ")");
  }
  throw Error(ExitCode::usage, message + "; nothing is recorded there; recorded devices: " + list(devices));
}

}  // namespace

std::string journal_file_name(const Workload& w, const std::string& target) {
  return workload_slug(w) + "." + target + ".jsonl";
}

std::vector<fs::path> results_folders() {
  std::vector<fs::path> folders = {"results"};
  folders.push_back(fs::path(own_executable()).parent_path().parent_path() / "share" / "moetune" / "results");
  const char* variable = std::getenv("MOETUNE_RESULTS_DIR");
  if (variable != nullptr && *variable != '\0') folders.emplace_back(variable);
  return folders;
}

fs::path find_journal(const std::string& spec, const Workload& w) {
  const std::string name = spec.starts_with(kPrefix) ? spec.substr(std::string(kPrefix).size()) : spec;
  if (name.empty()) throw Error(ExitCode::usage, "replay: needs a device name or a path, e.g. replay:NVIDIA_H200");
  if (is_file(name)) return name;
  const std::string slug = workload_slug(w);
  const std::vector<fs::path> folders = journal_folders(name);
  for (const fs::path& folder : folders) {
    for (const char* ending : kEndings) {
      if (const fs::path path = folder / (slug + ending); is_file(path)) return path;
    }
  }
  fail_not_found(name, slug, folders);
}

std::vector<RecordedDevice> recorded_devices() {
  std::map<std::string, std::vector<fs::path>> folders;
  for (const fs::path& results : results_folders()) {
    for (const fs::path& device : entries_of(results)) {
      folders[device.filename().string()].push_back(device / "journals");
    }
  }
  std::vector<RecordedDevice> devices;
  for (const auto& [name, journals] : folders) {
    const std::vector<std::string> workloads = workloads_in(journals);
    if (!workloads.empty()) devices.push_back({name, workloads});
  }
  return devices;
}

}  // namespace moetune
