// Who answers for a GPU: a real one through worker processes, a recorded one (replay), or a test's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/outcome.h"
#include "gpu/limits.h"
#include "jit/compile.h"
#include "kernels/plan.h"
#include "kernels/problem.h"
#include "measure/answers.h"
#include "workload/routing.h"

namespace moetune {

struct CompileAnswer {
  Outcome outcome = Outcome::unrecorded;  // ok, compile, timeout, unrecorded
  int registers = 0;
  int spill_bytes = 0;
  std::string log;  // only when not ok
};

class Executor {
 public:
  virtual ~Executor() = default;

  virtual GpuLimits limits() = 0;
  // Driver, NVRTC, tool versions and kernel digests, for journals and records.
  virtual Json environment() = 0;

  // Queues kernels for compiling, in this order; returns at once.
  virtual void prefetch(const std::vector<KernelSource>& kernels) = 0;
  virtual CompileAnswer compile(const KernelSource& kernel) = 0;  // waits

  // Prepares weights, inputs, routings and references of a token count; later calls refer to it.
  virtual ProblemAnswer open(int tokens) = 0;
  virtual ValidateAnswer validate(const Plan& plan) = 0;
  virtual MeasureAnswer measure(const MeasureRequest& request) = 0;

  virtual double gpu_seconds() const { return 0; }      // time spent in open, validate and measure
  virtual double compile_seconds() const { return 0; }  // sum over compile workers
};

}  // namespace moetune
