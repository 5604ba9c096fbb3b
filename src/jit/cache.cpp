#include "jit/cache.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "base/digest.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "jit/compile_json.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMeta = "meta.json";
constexpr const char* kCubin = "kernel.cubin";

fs::path entries() { return cache_folder() / "cubins"; }

[[noreturn]] void cannot_write(const std::string& reason) {
  throw Error(ExitCode::usage, "cannot write the kernel cache " + cache_folder().string() + ": " + reason +
                                   "; choose another folder with --cache-dir or MOETUNE_CACHE_DIR");
}

// Removed at the end unless it has been renamed away.
class AsideFolder {
 public:
  AsideFolder() {
    static std::atomic<unsigned> counter{0};
    path_ = entries() / (".new-" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
    fs::remove_all(path_);  // of a process that had this id before
    fs::create_directories(path_);
  }
  ~AsideFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  AsideFolder(const AsideFolder&) = delete;
  AsideFolder& operator=(const AsideFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

bool is_taken(const std::error_code& error) {
  return error == std::errc::file_exists || error == std::errc::directory_not_empty;
}

// Puts `folder` at `entry`. What is there already is either whole (another process compiled the same: kept) or damaged.
void move_into_place(const fs::path& folder, const fs::path& entry, const std::string& key) {
  std::error_code error;
  fs::rename(folder, entry, error);
  if (is_taken(error)) {
    if (cache_lookup(key)) return;
    fs::remove_all(entry);
    fs::rename(folder, entry, error);
    if (is_taken(error)) return;  // another process repaired it in between
  }
  if (error) cannot_write(error.message());
}

}  // namespace

void set_cache_folder(const fs::path& folder) { ::setenv("MOETUNE_CACHE_DIR", fs::absolute(folder).c_str(), 1); }

fs::path cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  if (const fs::path own = variable("MOETUNE_CACHE_DIR"); !own.empty()) return own;
  if (const fs::path xdg = variable("XDG_CACHE_HOME"); xdg.is_absolute()) return xdg / "moetune";
  if (const fs::path home = variable("HOME"); !home.empty()) return home / ".cache" / "moetune";
  return fs::temp_directory_path() / ("moetune-cache-" + std::to_string(::getuid()));
}

std::optional<CompileResult> cache_lookup(const std::string& key) {
  const fs::path entry = entries() / key;
  std::error_code error;
  if (!fs::exists(entry / kMeta, error)) return std::nullopt;
  try {
    const Json meta = Json::parse(read_file(entry / kMeta));
    CompileResult result = compile_result_from_json(meta.at("result"));
    if (result.ok) {
      const fs::path cubin = entry / kCubin;
      if (digest(read_file(cubin)) != meta.at("cubin_digest").get<std::string>()) return std::nullopt;
      result.cubin_path = cubin.string();
    }
    result.cached = true;
    return result;
  } catch (const std::exception&) {
    return std::nullopt;  // torn, foreign or unreadable: compile again
  }
}

CompileResult cache_store(const std::string& key, const CompileResult& result, const std::string& cubin) {
  const fs::path entry = entries() / key;
  CompileResult stored = result;
  stored.cubin_path = result.ok ? (entry / kCubin).string() : "";
  try {
    const AsideFolder aside;
    CompileResult in_file = result;
    in_file.cubin_path.clear();  // the folder may move
    in_file.cached = false;
    const Json meta = {{"key", key}, {"cubin_digest", digest(cubin)}, {"result", to_json(in_file)}};
    if (result.ok) write_file_atomically(aside.path() / kCubin, cubin);
    write_file_atomically(aside.path() / kMeta, one_line(meta) + "\n");
    move_into_place(aside.path(), entry, key);
  } catch (const fs::filesystem_error& error) {
    cannot_write(error.code().message());
  } catch (const Error& error) {
    if (std::string(error.what()).find("--cache-dir") != std::string::npos) throw;
    cannot_write(error.what());
  }
  return stored;
}

}  // namespace moetune
