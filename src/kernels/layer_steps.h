// Host halves of the layer's other steps: sort, quantise, activation, combine.
#pragma once

#include "kernels/family.h"

namespace moetune {

Family sort_family();
Family quantise_family();
Family silu_mul_family();
Family topk_sum_family();

}  // namespace moetune
