// The table of kernel families. To add one: its source in kernels/, a space file, a host file, one line in the table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/driver.h"
#include "jit/compile.h"
#include "kernels/layer.h"
#include "kernels/plan.h"
#include "kernels/problem.h"

namespace moetune {

// Kernels of one plan step, loaded, in the order of Family::kernels().
struct LoadedKernel {
  CUfunction function = nullptr;
};

// Puts one step's launches on the stream.
using LaunchStep = std::function<void(const LayerCall& call, const Stream& stream)>;

struct Family {
  std::string name;
  std::string description;
  std::string space;        // space name; empty: nothing to tune
  std::string source;       // "kernels/moe/grouped_gemm.cu"
  std::string host;         // "src/kernels/grouped_gemm.cpp"
  std::vector<Step> steps;  // the steps it can do, one at a time
  // Why it cannot run this workload on this GPU; empty when it can.
  std::string (*unsupported)(const Workload&, const GpuLimits&);
  // Kernels to compile for one of its steps.
  std::vector<KernelSource> (*kernels)(const Problem&, Step, const Config&);
  // Bytes of dynamic shared memory for each of those kernels.
  std::vector<int> (*dynamic_shared_bytes)(const Problem&, Step, const Config&);
  LaunchStep (*bind)(const Problem&, Step, const Config&, const std::vector<LoadedKernel>&);
  // Predicted time of one step, microseconds: a lower-bound model for pruning (bytes, tensor work incl. padding,
  // waves). 0: no model.
  double (*predicted_us)(const Problem&, Step, const Config&);
  std::string accumulate;  // for the record, e.g. "fp32, promoted every BLOCK_SIZE_K of K"
  bool deterministic = true;
};

const std::vector<Family>& families();
const Family& family(const std::string& name);  // Error(usage) with the nearest names

// Digest of what decides a family's behaviour: its kernel source with includes, its host file and its space.
std::string family_digest(const Family& family);

// The plan of the portable families with this config for both GEMMs at this token count. The sort step's config is its
// granularity (BLOCK_SIZE_M); it is left out where the engine skips it (naive_sort).
Plan portable_plan(const Workload& w, int tokens, const Config& gemm_config);

// Error(usage) when a plan (read from a file) cannot run this problem: a step is missing, doubled or out of order, a
// family does not do it, or a tuned step's config is no point of its family's space.
void check_plan(const Problem& problem, const Plan& plan);

// The distinct kernels of a plan, in step order.
std::vector<KernelSource> kernels_of(const Problem& problem, const Plan& plan);

// Sum of the families' predictions, microseconds.
double predicted_us(const Problem& problem, const Plan& plan);

// The engine's default config without a file (vLLM get_default_config): the baseline.
Config engine_default_config(const Workload& w, int tokens);

// Whether the engine's own kernel takes the config for this workload and GPU; the reason when not.
std::string engine_refuses(const Problem& problem, const Config& config);

}  // namespace moetune
