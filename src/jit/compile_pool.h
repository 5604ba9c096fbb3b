// Compile worker processes, in parallel with measuring. A compiler crash or hang costs one kernel.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "jit/compile.h"

namespace moetune {

class CompilePool {
 public:
  // `workers` child processes, started as needed; 0: all cores but one, at least 1. `deadline` is for one kernel.
  // `worker_command` is the worker's command line; empty: this binary's "worker compile".
  CompilePool(std::string arch, int workers, std::chrono::milliseconds deadline = std::chrono::seconds(120),
              std::vector<std::string> worker_command = {});
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  // Queues kernels in this order; ones known already are not queued again.
  void submit(const std::vector<KernelSource>& sources);

  // Waits for one kernel; moves it to the front of the queue when it has not started, submits it when not known.
  // A worker that died or hung costs this kernel only: ok is false (timed_out when it hung) and the log says how.
  CompileResult wait(const KernelSource& source);

  double busy_seconds() const;  // sum of the compile times so far, cached ones not counted
  int compiled() const;         // kernels compiled, cached ones not counted

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The loop of a compile worker: JSON lines in ({"file","expression","arch"}), JSON lines out (the fields of
// CompileResult), until end of input. What cannot be compiled for any reason, a missing NVRTC too, is ok: false and a
// log.
int run_compile_worker();

}  // namespace moetune
