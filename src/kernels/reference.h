// Host half of kernels/reference/: references, comparison, input filling, read chain.
#pragma once

#include <vector>

#include "gpu/driver.h"
#include "kernels/kernel_store.h"
#include "kernels/layer.h"
#include "kernels/problem.h"

namespace moetune {

enum class FillKind { normal = 0, small_integers = 1, powers_of_two = 2, positive = 3 };

// `count` values of the dtype's operand type; `scale`: standard deviation (normal).
void fill_values(KernelStore& store, const Stream& stream, Dtype operand, CUdeviceptr out, std::uint64_t count,
                 std::uint64_t seed, FillKind kind, float scale);
// fp32; positive: uniform in [scale/2, 3*scale/2].
void fill_floats(KernelStore& store, const Stream& stream, CUdeviceptr out, std::uint64_t count, std::uint64_t seed,
                 FillKind kind, float scale);

// The layer's GEMM (gemm1 or gemm2) on the operands in `call`, to fp32 [slots, n], rounded to the 16-bit type.
void reference_gemm(KernelStore& store, const Stream& stream, const Workload& w, int tokens, Step step,
                    const LayerCall& call, CUdeviceptr out);

// The whole layer from hidden states and routing, with the intermediate requantised, to fp32 [tokens, hidden]. Leaves
// the quantised operands in call.tensors (a1, a2 and their scales) for timing single steps.
void reference_layer(KernelStore& store, const Stream& stream, const Workload& w, int tokens, const LayerCall& call,
                     CUdeviceptr out);

struct Comparison {
  bool finite = true;
  double rel_err = 0;           // |out - ref| / |ref| over all rows
  double worst_row_err = 0;     // the same of the worst row
  double worst_element = 0;     // largest |out - ref| over its row's root mean square
  std::int64_t mismatches = 0;  // elements not equal
};
// 16-bit `out` against fp32 `reference`, both [rows, columns]; rows whose id is -1 are skipped (ids 0: none).
Comparison compare_rows(KernelStore& store, const Stream& stream, const Workload& w, CUdeviceptr out,
                        CUdeviceptr reference, CUdeviceptr row_ids, int rows, int columns);

// One launch that streams `active` experts' weights with 16-byte loads.
void read_chain(KernelStore& store, const Stream& stream, int sm_count, CUdeviceptr weights, CUdeviceptr experts,
                int active, std::int64_t bytes_per_expert, CUdeviceptr sink);

}  // namespace moetune
