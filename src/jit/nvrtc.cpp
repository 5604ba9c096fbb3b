#include "jit/nvrtc.h"

#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/text.h"
#include "jit/nvrtc_search.h"

namespace moetune {
namespace {

#define MOETUNE_NVRTC_FUNCTIONS(X) \
  X(nvrtcVersion)                  \
  X(nvrtcGetErrorString)           \
  X(nvrtcCreateProgram)            \
  X(nvrtcDestroyProgram)           \
  X(nvrtcAddNameExpression)        \
  X(nvrtcCompileProgram)           \
  X(nvrtcGetLoweredName)           \
  X(nvrtcGetProgramLogSize)        \
  X(nvrtcGetProgramLog)            \
  X(nvrtcGetCUBINSize)             \
  X(nvrtcGetCUBIN)

constexpr const char* kProbe = "__global__ void probe() {}";

struct Api {
#define X(name) decltype(&::name) name = nullptr;
  MOETUNE_NVRTC_FUNCTIONS(X)
#undef X
};

struct Loaded {
  std::optional<NvrtcFound> found;
  Api api;
  std::vector<std::string> tried;
};

class Program {
 public:
  Program(const Api& api, const std::string& source, const std::string& name,
          const std::vector<std::pair<std::string, std::string>>& headers)
      : api_(api) {
    std::vector<const char*> names, texts;
    for (const auto& [header, text] : headers) {
      names.push_back(header.c_str());
      texts.push_back(text.c_str());
    }
    check(api_.nvrtcCreateProgram(&program_, source.c_str(), name.c_str(), static_cast<int>(headers.size()),
                                  texts.data(), names.data()));
  }
  ~Program() { api_.nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Throws what cannot be the source's fault; a refused source is `ok` false.
  NvrtcProgramResult compile(const std::string& expression, const std::vector<std::string>& options) {
    if (!expression.empty()) check(api_.nvrtcAddNameExpression(program_, expression.c_str()));
    std::vector<const char*> arguments;
    for (const std::string& option : options) arguments.push_back(option.c_str());
    const nvrtcResult status = api_.nvrtcCompileProgram(program_, static_cast<int>(arguments.size()), arguments.data());
    NvrtcProgramResult result;
    result.log = log();
    if (status == NVRTC_ERROR_COMPILATION || status == NVRTC_ERROR_INVALID_OPTION) {
      if (result.log.empty()) result.log = api_.nvrtcGetErrorString(status);
      return result;
    }
    // Out of memory or an internal error says nothing about the source, and must not be cached as its fault.
    if (status != NVRTC_SUCCESS) {
      throw Error(ExitCode::internal, std::string("NVRTC: ") + api_.nvrtcGetErrorString(status) + ": " + result.log);
    }
    if (!expression.empty()) {
      const char* lowered = nullptr;
      check(api_.nvrtcGetLoweredName(program_, expression.c_str(), &lowered));
      result.lowered_name = lowered;
    }
    std::size_t size = 0;
    check(api_.nvrtcGetCUBINSize(program_, &size));
    result.cubin.resize(size);
    check(api_.nvrtcGetCUBIN(program_, result.cubin.data()));
    result.ok = size > 0;
    return result;
  }

 private:
  void check(nvrtcResult status) const {
    if (status == NVRTC_SUCCESS) return;
    throw Error(ExitCode::internal, std::string("NVRTC: ") + api_.nvrtcGetErrorString(status));
  }

  std::string log() const {
    std::size_t size = 0;
    if (api_.nvrtcGetProgramLogSize(program_, &size) != NVRTC_SUCCESS || size <= 1) return {};
    std::string text(size, '\0');
    if (api_.nvrtcGetProgramLog(program_, text.data()) != NVRTC_SUCCESS) return {};
    text.resize(size - 1);  // the size counts the terminating zero
    return text;
  }

  const Api& api_;
  nvrtcProgram program_ = nullptr;
};

// Why the library does not work, or an empty text.
std::string load(const std::string& file, Loaded& loaded) {
  // Kept open for the life of the process: NVRTC does not survive being unloaded.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return ::dlerror();
  Api api;
#define X(name)                                                            \
  api.name = reinterpret_cast<decltype(&::name)>(::dlsym(library, #name)); \
  if (api.name == nullptr) return "no function " #name " (too old a library)";
  MOETUNE_NVRTC_FUNCTIONS(X)
#undef X
  NvrtcFound found{file, 0, 0};
  if (api.nvrtcVersion(&found.major, &found.minor) != NVRTC_SUCCESS) return "nvrtcVersion failed";
  // Finds a missing libnvrtc-builtins now, and not as a failure of every kernel.
  try {
    const NvrtcProgramResult probe = Program(api, kProbe, "probe.cu", {}).compile("", {"--gpu-architecture=sm_80"});
    if (!probe.ok) return probe.log;
  } catch (const Error& error) {
    return error.what();
  }
  loaded.api = api;
  loaded.found = found;
  return {};
}

// For one message that joins several reasons.
std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  while (line.ends_with('.')) line.pop_back();
  return line;
}

Loaded search() {
  Loaded loaded;
  for (const NvrtcPlace& place : nvrtc_places()) {
    if (place.files.empty()) loaded.tried.push_back(place.name + ": no libnvrtc there");
    for (const std::string& file : place.files) {
      const std::string reason = load(file, loaded);
      if (reason.empty()) return loaded;
      loaded.tried.push_back(first_line(reason.starts_with(file) ? reason : file + ": " + reason));
    }
  }
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = search();
  return once;
}

const Api& require_api() {
  require_nvrtc();
  return loaded().api;
}

}  // namespace

void set_nvrtc_path(const std::string& path) { ::setenv("MOETUNE_NVRTC", path.c_str(), 1); }

std::optional<NvrtcFound> find_nvrtc(std::vector<std::string>* tried) {
  if (tried != nullptr) tried->insert(tried->end(), loaded().tried.begin(), loaded().tried.end());
  return loaded().found;
}

NvrtcFound require_nvrtc() {
  if (loaded().found) return *loaded().found;
  throw Error(ExitCode::no_device,
              "NVRTC (libnvrtc.so of CUDA 12 or 13) not found; tried " + join(loaded().tried, "; ") +
                  ". Install the CUDA Toolkit or the pip package nvidia-cuda-nvrtc (CUDA 12: nvidia-cuda-nvrtc-cu12), "
                  "or name the library with --nvrtc PATH or MOETUNE_NVRTC");
}

NvrtcProgramResult nvrtc_compile(const std::string& source, const std::string& name,
                                 const std::vector<std::pair<std::string, std::string>>& headers,
                                 const std::string& expression, const std::vector<std::string>& options) {
  return Program(require_api(), source, name, headers).compile(expression, options);
}

bool nvrtc_supports(const std::string& arch) {
  static std::mutex mutex;
  static std::map<std::string, bool> answers;
  const std::lock_guard lock(mutex);
  const auto known = answers.find(arch);
  if (known != answers.end()) return known->second;
  const bool ok = nvrtc_compile(kProbe, "probe.cu", {}, "", {"--gpu-architecture=" + arch}).ok;
  return answers[arch] = ok;
}

}  // namespace moetune
