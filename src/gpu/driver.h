// The CUDA driver API, loaded at run time, behind RAII. Every call checks its result; a failure throws GpuError with
// the driver's name for it. Units: bytes, microseconds.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/limits.h"

namespace moetune {

class GpuError : public std::runtime_error {
 public:
  GpuError(CUresult result, const std::string& what) : std::runtime_error(what), result_(result) {}
  CUresult result() const { return result_; }
  bool out_of_memory() const { return result_ == CUDA_ERROR_OUT_OF_MEMORY; }
  // The context cannot be used any more (illegal address, launch timeout, assert, ...).
  bool poisons_context() const;

 private:
  CUresult result_;
};

struct DriverState {
  bool loaded = false;  // the library is there and has every function; it may still show no GPU
  std::string problem;  // why there is no GPU: library missing, initialisation failed (with the driver's words)
  int version = 0;      // CUDA version of the driver, e.g. 13000
  std::vector<std::string> devices;
};
// Looks for libcuda.so.1 and initialises it, once a process; never throws. MOETUNE_LIBCUDA=PATH names another file
// (unusual installs, tests).
DriverState driver_state();

// Why a driver of this CUDA version cannot load cubins of this NVRTC; empty when it can (minor version compatibility
// covers one major version).
std::string driver_too_old(int driver_version, int nvrtc_major, int nvrtc_minor);

// One GPU's primary context, current on this thread while the object lives. Error(no_device) when there is none
// or it cannot be used (its memory is full, another process owns it).
class Device {
 public:
  explicit Device(int ordinal = 0);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const GpuLimits& limits() const { return limits_; }
  std::int64_t free_memory() const;
  void synchronize() const;

 private:
  CUdevice device_ = 0;
  GpuLimits limits_;
};

class Stream;

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  CUdeviceptr ptr() const { return ptr_; }
  std::size_t bytes() const { return bytes_; }
  // The data is on the GPU when upload returns. Neither waits for a Stream: synchronise it before download.
  void upload(const void* data, std::size_t bytes, std::size_t offset = 0);
  void download(void* data, std::size_t bytes, std::size_t offset = 0) const;
  void fill_bytes(std::uint8_t value, const Stream& stream);  // asynchronous

 private:
  CUdeviceptr ptr_ = 0;
  std::size_t bytes_ = 0;
};

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream get() const { return stream_; }
  void synchronize() const;

 private:
  CUstream stream_ = nullptr;
};

// Device to device, asynchronous.
void copy_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, const Stream& stream);

class Event {
 public:
  Event();
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&&) = delete;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(const Stream& stream) const;
  // During a capture: a node of the graph that records at every replay (timings without the launch's own latency).
  void record_in_graph(const Stream& stream) const;
  void synchronize() const;
  CUevent get() const { return event_; }

 private:
  CUevent event_ = nullptr;
};
double microseconds_between(const Event& start, const Event& stop);

class Module {
 public:
  explicit Module(const std::string& cubin);  // the bytes
  ~Module();
  Module(Module&& other) noexcept;
  Module& operator=(Module&&) = delete;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  // Raises the dynamic shared memory limit when `dynamic_shared_bytes` needs it.
  CUfunction function(const std::string& entry, int dynamic_shared_bytes = 0) const;

 private:
  CUmodule module_ = nullptr;
};

struct LaunchShape {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1;
  unsigned dynamic_shared_bytes = 0;
};
// `args`: one pointer a kernel parameter.
void launch(CUfunction function, const LaunchShape& shape, const Stream& stream, const std::vector<void*>& args);

// A graph captured from the launches that `record` puts on the stream.
class Graph {
 public:
  Graph(const Stream& stream, const std::function<void()>& record);
  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&&) = delete;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void replay(const Stream& stream) const;

 private:
  CUgraphExec exec_ = nullptr;
};

}  // namespace moetune
