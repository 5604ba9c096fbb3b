#include "measure/quantity.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace moetune {
namespace {

TEST(Quantity, NamesRoundTrip) {
  for (const char* name : {"rank", "gemm1", "gemm2", "pair", "op", "floor"}) {
    EXPECT_STREQ(name_of(quantity_from_name(name)), name);
  }
}

TEST(Quantity, UnknownNameShowsTheNearest) {
  try {
    quantity_from_name("gemm3");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("'gemm3'; nearest known: gemm1"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace moetune
