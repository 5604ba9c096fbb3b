#include "gpu/driver_api.h"

#include <dlfcn.h>

#include <cstdlib>

#include "gpu/driver.h"

namespace moetune {

namespace {

std::string words_for(const DriverApi& api, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.error_name != nullptr) api.error_name(result, &name);
  if (api.error_string != nullptr) api.error_string(result, &text);
  return std::string(name != nullptr ? name : "CUDA error " + std::to_string(result)) +
         (text != nullptr ? std::string(" (") + text + ")" : "");
}

DriverApi load() {
  DriverApi api;
  const char* override_path = std::getenv("MOETUNE_LIBCUDA");
  const std::string path = override_path != nullptr ? override_path : "libcuda.so.1";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* words = dlerror();
    api.problem = override_path == nullptr
                      ? path + " not found: the NVIDIA driver is not installed, or not visible here"
                      : "MOETUNE_LIBCUDA cannot be loaded: " + std::string(words != nullptr ? words : path);
    return api;
  }
#define MOETUNE_RESOLVE(name, symbol, result, ...)                                                              \
  api.name = reinterpret_cast<result (*)(__VA_ARGS__)>(dlsym(library, symbol));                                 \
  if (api.name == nullptr) {                                                                                    \
    api.problem = path + " lacks " + symbol + ": not a driver of CUDA 11.4 or later; update the NVIDIA driver"; \
    return api;                                                                                                 \
  }
  MOETUNE_DRIVER_FUNCTIONS(MOETUNE_RESOLVE)
#undef MOETUNE_RESOLVE
  api.complete = true;
  const CUresult result = api.init(0);
  if (result == CUDA_ERROR_NO_DEVICE) {
    api.problem = no_gpu_shown;
  } else if (result != CUDA_SUCCESS) {
    api.problem = "the NVIDIA driver did not start: " + words_for(api, result);
  }
  return api;
}

}  // namespace

const DriverApi& driver_api() {
  static const DriverApi api = load();
  return api;
}

void check(CUresult result, const char* doing) {
  if (result == CUDA_SUCCESS) return;
  throw GpuError(result, std::string(doing) + ": " + words_for(driver_api(), result));
}

}  // namespace moetune
