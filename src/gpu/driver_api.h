// The table of driver functions, resolved from libcuda at run time.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <string>

namespace moetune {

// name, exported symbol (cuda.h maps plain names to these versions by macros, which dlsym does not see)
#define MOETUNE_DRIVER_FUNCTIONS(X)                                                                                    \
  X(init, "cuInit", CUresult, unsigned)                                                                                \
  X(driver_version, "cuDriverGetVersion", CUresult, int*)                                                              \
  X(error_name, "cuGetErrorName", CUresult, CUresult, const char**)                                                    \
  X(error_string, "cuGetErrorString", CUresult, CUresult, const char**)                                                \
  X(device_count, "cuDeviceGetCount", CUresult, int*)                                                                  \
  X(device_get, "cuDeviceGet", CUresult, CUdevice*, int)                                                               \
  X(device_name, "cuDeviceGetName", CUresult, char*, int, CUdevice)                                                    \
  X(device_attribute, "cuDeviceGetAttribute", CUresult, int*, CUdevice_attribute, CUdevice)                            \
  X(device_memory, "cuDeviceTotalMem_v2", CUresult, std::size_t*, CUdevice)                                            \
  X(context_retain, "cuDevicePrimaryCtxRetain", CUresult, CUcontext*, CUdevice)                                        \
  X(context_release, "cuDevicePrimaryCtxRelease_v2", CUresult, CUdevice)                                               \
  X(context_set, "cuCtxSetCurrent", CUresult, CUcontext)                                                               \
  X(context_synchronize, "cuCtxSynchronize", CUresult)                                                                 \
  X(memory_info, "cuMemGetInfo_v2", CUresult, std::size_t*, std::size_t*)                                              \
  X(memory_alloc, "cuMemAlloc_v2", CUresult, CUdeviceptr*, std::size_t)                                                \
  X(memory_free, "cuMemFree_v2", CUresult, CUdeviceptr)                                                                \
  X(copy_to_device, "cuMemcpyHtoD_v2", CUresult, CUdeviceptr, const void*, std::size_t)                                \
  X(copy_to_host, "cuMemcpyDtoH_v2", CUresult, void*, CUdeviceptr, std::size_t)                                        \
  X(copy_device_async, "cuMemcpyDtoDAsync_v2", CUresult, CUdeviceptr, CUdeviceptr, std::size_t, CUstream)              \
  X(fill_async, "cuMemsetD8Async", CUresult, CUdeviceptr, unsigned char, std::size_t, CUstream)                        \
  X(stream_create, "cuStreamCreate", CUresult, CUstream*, unsigned)                                                    \
  X(stream_destroy, "cuStreamDestroy_v2", CUresult, CUstream)                                                          \
  X(stream_synchronize, "cuStreamSynchronize", CUresult, CUstream)                                                     \
  X(capture_begin, "cuStreamBeginCapture_v2", CUresult, CUstream, CUstreamCaptureMode)                                 \
  X(capture_end, "cuStreamEndCapture", CUresult, CUstream, CUgraph*)                                                   \
  X(event_create, "cuEventCreate", CUresult, CUevent*, unsigned)                                                       \
  X(event_destroy, "cuEventDestroy_v2", CUresult, CUevent)                                                             \
  X(event_record, "cuEventRecordWithFlags", CUresult, CUevent, CUstream, unsigned)                                     \
  X(event_synchronize, "cuEventSynchronize", CUresult, CUevent)                                                        \
  X(event_elapsed, "cuEventElapsedTime", CUresult, float*, CUevent, CUevent)                                           \
  X(module_load, "cuModuleLoadData", CUresult, CUmodule*, const void*)                                                 \
  X(module_unload, "cuModuleUnload", CUresult, CUmodule)                                                               \
  X(module_function, "cuModuleGetFunction", CUresult, CUfunction*, CUmodule, const char*)                              \
  X(function_set, "cuFuncSetAttribute", CUresult, CUfunction, CUfunction_attribute, int)                               \
  X(function_get, "cuFuncGetAttribute", CUresult, int*, CUfunction_attribute, CUfunction)                              \
  X(launch_kernel, "cuLaunchKernel", CUresult, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
    unsigned, CUstream, void**, void**)                                                                                \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", CUresult, CUgraphExec*, CUgraph, unsigned long long)             \
  X(graph_destroy, "cuGraphDestroy", CUresult, CUgraph)                                                                \
  X(graph_exec_destroy, "cuGraphExecDestroy", CUresult, CUgraphExec)                                                   \
  X(graph_upload, "cuGraphUpload", CUresult, CUgraphExec, CUstream)                                                    \
  X(graph_launch, "cuGraphLaunch", CUresult, CUgraphExec, CUstream)

struct DriverApi {
#define MOETUNE_DECLARE(name, symbol, result, ...) result (*name)(__VA_ARGS__) = nullptr;
  MOETUNE_DRIVER_FUNCTIONS(MOETUNE_DECLARE)
#undef MOETUNE_DECLARE
  bool complete = false;  // every function above is there
  std::string problem;    // why the driver cannot be used; empty when it can
};

inline constexpr const char* no_gpu_shown =
    "the NVIDIA driver shows no GPU (check CUDA_VISIBLE_DEVICES; in a container, start it with the GPUs)";

// Loads libcuda (MOETUNE_LIBCUDA names another file) and initialises the driver, once.
const DriverApi& driver_api();

// Throws GpuError with the driver's words when `result` is a failure.
void check(CUresult result, const char* doing);

}  // namespace moetune
