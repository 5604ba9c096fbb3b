// The test binary is its own compile worker, so that the pool's default command is tested as it is.
#include <gtest/gtest.h>

#include <string_view>

#include "jit/compile_pool.h"

int main(int argc, char** argv) {
  using std::string_view;
  if (argc == 3 && argv[1] == string_view("worker") && argv[2] == string_view("compile")) {
    return moetune::run_compile_worker();
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
