#include "gpu/driver.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "gpu/driver_api.h"

namespace moetune {

namespace {

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(driver_api().device_attribute(&value, which, device), "reading a device attribute");
  return value;
}

GpuLimits read_limits(CUdevice device) {
  GpuLimits limits;
  std::array<char, 256> name{};
  check(driver_api().device_name(name.data(), static_cast<int>(name.size()), device), "reading the device name");
  limits.name = name.data();
  limits.compute_capability = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                              attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  limits.arch = arch_for_compute_capability(limits.compute_capability);
  limits.sm_count = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  limits.shared_memory_per_block_optin = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  limits.shared_memory_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  limits.registers_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  limits.max_threads_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  limits.l2_bytes = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  std::size_t memory = 0;
  check(driver_api().device_memory(&memory, device), "reading the memory size");
  limits.memory_bytes = static_cast<std::int64_t>(memory);
  // Not every driver tells the clock (kHz); the bandwidth is then 0. Double data rate: two transfers a clock.
  int clock = 0;
  if (driver_api().device_attribute(&clock, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, device) != CUDA_SUCCESS) clock = 0;
  limits.memory_bandwidth = 2e3 * clock * attribute(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
  check(driver_api().driver_version(&limits.driver_version), "reading the driver version");
  return limits;
}

void close_context(CUdevice device) {
  driver_api().context_set(nullptr);
  driver_api().context_release(device);
}

void open_context(CUdevice device) {
  CUcontext context = nullptr;
  check(driver_api().context_retain(&context, device), "creating a context");
  const CUresult result = driver_api().context_set(context);
  if (result != CUDA_SUCCESS) close_context(device);
  check(result, "making the context current");
}

}  // namespace

bool GpuError::poisons_context() const {
  // By number: older headers lack the names (CUDA_ERROR_CONTAINED, CUDA_ERROR_TENSOR_MEMORY_LEAK).
  constexpr auto contained_error = static_cast<CUresult>(226), tensor_memory_leak = static_cast<CUresult>(721);
  constexpr std::array fatal = {CUDA_ERROR_ILLEGAL_ADDRESS,
                                CUDA_ERROR_ILLEGAL_INSTRUCTION,
                                CUDA_ERROR_MISALIGNED_ADDRESS,
                                CUDA_ERROR_INVALID_ADDRESS_SPACE,
                                CUDA_ERROR_INVALID_PC,
                                CUDA_ERROR_LAUNCH_FAILED,
                                CUDA_ERROR_LAUNCH_TIMEOUT,
                                CUDA_ERROR_HARDWARE_STACK_ERROR,
                                CUDA_ERROR_ASSERT,
                                CUDA_ERROR_ECC_UNCORRECTABLE,
                                CUDA_ERROR_NVLINK_UNCORRECTABLE,
                                CUDA_ERROR_EXTERNAL_DEVICE,
                                CUDA_ERROR_CONTEXT_IS_DESTROYED,
                                CUDA_ERROR_UNKNOWN,
                                contained_error,
                                tensor_memory_leak};
  return std::find(fatal.begin(), fatal.end(), result_) != fatal.end();
}

DriverState driver_state() {
  DriverState state;
  const DriverApi& api = driver_api();
  state.problem = api.problem;
  state.loaded = api.complete;
  // The version is known without initialisation, so that a driver without a GPU is not taken for a missing driver.
  if (state.loaded && api.driver_version(&state.version) != CUDA_SUCCESS) state.version = 0;
  if (!api.problem.empty()) return state;
  int count = 0;
  if (api.device_count(&count) != CUDA_SUCCESS || count == 0) {
    state.problem = no_gpu_shown;
    return state;
  }
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    std::array<char, 256> name{};
    const bool named = api.device_get(&device, i) == CUDA_SUCCESS &&
                       api.device_name(name.data(), static_cast<int>(name.size()), device) == CUDA_SUCCESS;
    state.devices.emplace_back(named ? name.data() : "a GPU without a name");  // keeps the ordinals right
  }
  return state;
}

std::string driver_too_old(int driver_version, int nvrtc_major, int nvrtc_minor) {
  if (nvrtc_major <= driver_version / 1000) return {};
  return "the driver supports CUDA " + std::to_string(driver_version / 1000) + "." +
         std::to_string(driver_version % 1000 / 10) + " and cannot load what NVRTC " + std::to_string(nvrtc_major) +
         "." + std::to_string(nvrtc_minor) + " compiles; update the driver to one for CUDA " +
         std::to_string(nvrtc_major) + ".x, or point --nvrtc at an NVRTC of CUDA " +
         std::to_string(driver_version / 1000) + ".x";
}

Device::Device(int ordinal) {
  const DriverState state = driver_state();
  if (state.devices.empty()) throw Error(ExitCode::no_device, "no GPU: " + state.problem);
  if (ordinal < 0 || ordinal >= static_cast<int>(state.devices.size())) {
    throw Error(ExitCode::no_device, "no GPU " + std::to_string(ordinal) + ": found " +
                                         std::to_string(state.devices.size()) + " (numbered from 0)");
  }
  // Another process may hold all its memory or own it alone: the GPU's state, not an error of ours.
  try {
    check(driver_api().device_get(&device_, ordinal), "opening it");
    limits_ = read_limits(device_);
    open_context(device_);
  } catch (const GpuError& error) {
    throw Error(ExitCode::no_device, "GPU " + std::to_string(ordinal) + " (" +
                                         state.devices[static_cast<std::size_t>(ordinal)] +
                                         ") cannot be used: " + error.what() + "; see nvidia-smi, or pick another GPU");
  }
}

Device::~Device() { close_context(device_); }

std::int64_t Device::free_memory() const {
  std::size_t free = 0, total = 0;
  check(driver_api().memory_info(&free, &total), "reading the free memory");
  return static_cast<std::int64_t>(free);
}

void Device::synchronize() const { check(driver_api().context_synchronize(), "waiting for the GPU"); }

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes > 0)
    check(driver_api().memory_alloc(&ptr_, bytes), ("allocating " + std::to_string(bytes) + " bytes").c_str());
}

Buffer::~Buffer() {
  if (ptr_ != 0) driver_api().memory_free(ptr_);
}

Buffer::Buffer(Buffer&& other) noexcept : ptr_(std::exchange(other.ptr_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(ptr_, other.ptr_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Buffer::upload(const void* data, std::size_t bytes, std::size_t offset) {
  if (bytes == 0) return;
  check(driver_api().copy_to_device(ptr_ + offset, data, bytes), "copying to the GPU");
  // From pageable memory the copy may still be under way when it returns, and a non-blocking stream would not wait.
  check(driver_api().stream_synchronize(nullptr), "copying to the GPU");
}

void Buffer::download(void* data, std::size_t bytes, std::size_t offset) const {
  if (bytes > 0) check(driver_api().copy_to_host(data, ptr_ + offset, bytes), "copying from the GPU");
}

void Buffer::fill_bytes(std::uint8_t value, const Stream& stream) {
  if (bytes_ > 0) check(driver_api().fill_async(ptr_, value, bytes_, stream.get()), "filling memory");
}

void copy_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, const Stream& stream) {
  if (bytes > 0) check(driver_api().copy_device_async(to, from, bytes, stream.get()), "copying on the GPU");
}

Stream::Stream() { check(driver_api().stream_create(&stream_, CU_STREAM_NON_BLOCKING), "creating a stream"); }

Stream::~Stream() { driver_api().stream_destroy(stream_); }

void Stream::synchronize() const { check(driver_api().stream_synchronize(stream_), "waiting for kernels"); }

Event::Event() { check(driver_api().event_create(&event_, CU_EVENT_DEFAULT), "creating an event"); }

Event::~Event() {
  if (event_ != nullptr) driver_api().event_destroy(event_);
}

Event::Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}

void Event::record(const Stream& stream) const {
  check(driver_api().event_record(event_, stream.get(), CU_EVENT_RECORD_DEFAULT), "recording an event");
}

void Event::record_in_graph(const Stream& stream) const {
  check(driver_api().event_record(event_, stream.get(), CU_EVENT_RECORD_EXTERNAL), "recording an event in a graph");
}

void Event::synchronize() const { check(driver_api().event_synchronize(event_), "waiting for an event"); }

double microseconds_between(const Event& start, const Event& stop) {
  float milliseconds = 0;
  check(driver_api().event_elapsed(&milliseconds, start.get(), stop.get()), "reading the time between events");
  return static_cast<double>(milliseconds) * 1000;
}

Module::Module(const std::string& cubin) {
  check(driver_api().module_load(&module_, cubin.data()), "loading a kernel");
}

Module::~Module() {
  if (module_ != nullptr) driver_api().module_unload(module_);
}

Module::Module(Module&& other) noexcept : module_(std::exchange(other.module_, nullptr)) {}

CUfunction Module::function(const std::string& entry, int dynamic_shared_bytes) const {
  CUfunction function = nullptr;
  check(driver_api().module_function(&function, module_, entry.c_str()), ("finding " + entry).c_str());
  int static_shared_bytes = 0;
  check(driver_api().function_get(&static_shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function),
        "reading a kernel's shared memory");
  constexpr int without_opt_in = 48 * 1024;
  if (static_shared_bytes + dynamic_shared_bytes > without_opt_in) {
    check(driver_api().function_set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic_shared_bytes),
          ("asking for " + std::to_string(dynamic_shared_bytes) + " bytes of shared memory").c_str());
  }
  return function;
}

void launch(CUfunction function, const LaunchShape& shape, const Stream& stream, const std::vector<void*>& args) {
  std::vector<void*> pointers = args;
  check(driver_api().launch_kernel(function, shape.grid_x, shape.grid_y, shape.grid_z, shape.block_x, 1, 1,
                                   shape.dynamic_shared_bytes, stream.get(), pointers.data(), nullptr),
        "launching a kernel");
}

Graph::Graph(const Stream& stream, const std::function<void()>& record) {
  check(driver_api().capture_begin(stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED), "starting a capture");
  CUgraph graph = nullptr;
  try {
    record();
  } catch (...) {  // never leave the stream capturing
    driver_api().capture_end(stream.get(), &graph);
    if (graph != nullptr) driver_api().graph_destroy(graph);
    throw;
  }
  check(driver_api().capture_end(stream.get(), &graph), "ending a capture");
  const CUresult result = driver_api().graph_instantiate(&exec_, graph, 0);
  driver_api().graph_destroy(graph);
  check(result, "instantiating a graph");
  // Only saves the first replay from doing it; a failure shows there.
  driver_api().graph_upload(exec_, stream.get());
}

Graph::~Graph() {
  if (exec_ != nullptr) driver_api().graph_exec_destroy(exec_);
}

Graph::Graph(Graph&& other) noexcept : exec_(std::exchange(other.exec_, nullptr)) {}

void Graph::replay(const Stream& stream) const {
  check(driver_api().graph_launch(exec_, stream.get()), "replaying a graph");
}

}  // namespace moetune
