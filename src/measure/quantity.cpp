#include "measure/quantity.h"

#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace moetune {
namespace {

constexpr Quantity all[] = {Quantity::rank, Quantity::gemm1, Quantity::gemm2,
                            Quantity::pair, Quantity::op,    Quantity::floor};

}  // namespace

const char* name_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::rank:
      return "rank";
    case Quantity::gemm1:
      return "gemm1";
    case Quantity::gemm2:
      return "gemm2";
    case Quantity::pair:
      return "pair";
    case Quantity::op:
      return "op";
    case Quantity::floor:
      return "floor";
  }
  throw Error(ExitCode::internal, "a quantity without a name");
}

Quantity quantity_from_name(const std::string& name) {
  std::vector<std::string> names;
  for (const Quantity quantity : all) {
    if (name == name_of(quantity)) return quantity;
    names.push_back(name_of(quantity));
  }
  throw Error(ExitCode::usage,
              "unknown quantity '" + name + "'; nearest known: " + join(nearest_names(name, names), ", "));
}

}  // namespace moetune
