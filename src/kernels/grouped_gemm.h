// Host half of kernels/moe/grouped_gemm.cu, the portable family of both GEMMs.
#pragma once

#include "kernels/family.h"

namespace moetune {

Family grouped_gemm_family();

// Upper bound of the M blocks of a call: what the grid covers.
std::int64_t m_block_bound(const Workload& w, int tokens, std::int64_t block_m);

}  // namespace moetune
