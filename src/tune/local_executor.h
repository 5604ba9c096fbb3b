// The executor of a GPU on this machine: compile workers and one device worker, both child processes, so that a crash,
// hang or poisoned context costs one trial and the parent never holds a CUDA context.
#pragma once

#include <chrono>
#include <memory>

#include "tune/executor.h"

namespace moetune {

struct LocalOptions {
  Workload workload;
  RoutingSpec routing;
  std::uint64_t seed = 0;
  int device = 0;           // ordinal, after CUDA_VISIBLE_DEVICES
  int max_tokens = 1;       // largest token count that will be opened
  int compile_workers = 0;  // 0: all cores but one
  std::chrono::seconds trial_deadline{30};
  std::chrono::seconds open_deadline{120};
};

// Starts the device worker. Error(no_device): no GPU, no driver, no NVRTC, or a driver too old for this NVRTC.
// Error(usage): the layer with `max_tokens` tokens does not fit the GPU (the message says the need in GB), or the
// kernels cannot take that many tokens.
std::unique_ptr<Executor> make_local_executor(const LocalOptions& options);

// Bytes that tuning the workload allocates at most, for token counts up to `max_tokens`.
std::int64_t device_bytes_needed(const Workload& workload, int max_tokens, int weight_sets);

// The loop of a device worker: JSON lines in and out, until end of input.
int run_device_worker();

}  // namespace moetune
