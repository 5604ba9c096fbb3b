// What a timing sample is the time of.
#pragma once

#include <string>

namespace moetune {

enum class Quantity {
  rank,  // sort + gemm1 + gemm2: what ranks configs of an engine file
  gemm1,
  gemm2,
  pair,   // gemm1 + gemm2
  op,     // the whole layer, from top-k ids, weights and 16-bit hidden states to the 16-bit output
  floor,  // a read chain of the pair's weight bytes in as many launches (no plan)
};

const char* name_of(Quantity quantity);
Quantity quantity_from_name(const std::string& name);

}  // namespace moetune
