// Runs the GPU tests; with --verification=FILE writes which kernels they verified (results/<device>/verification.json).
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "gpu/driver.h"
#include "jit/nvrtc.h"
#include "kernels/family.h"

int main(int argc, char** argv) {
  using namespace moetune;
  testing::InitGoogleTest(&argc, argv);
  std::string file;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--verification=", 0) == 0) file = argument.substr(15);
  }
  const int status = RUN_ALL_TESTS();
  if (file.empty()) return status;
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  if (driver_state().devices.empty() || tests.skipped_test_count() > 0) {
    std::fprintf(stderr, "moetune_gpu_tests: nothing verified: tests were skipped\n");
    return 3;
  }
  Json json = {{"format", "moetune.verification/1"},
               {"device", driver_state().devices.front()},
               {"driver", driver_state().version},
               {"nvrtc", require_nvrtc().version()},
               {"command", "scripts/verify_gpu"},
               {"tests", {{"passed", tests.successful_test_count()}, {"failed", tests.failed_test_count()}}}};
  for (const Family& f : families()) {
    json["families"][f.name] = {{"digest", family_digest(f)}, {"outcome", status == 0 ? "ok" : "failed"}};
  }
  json["pending"] = Json::object();
  write_file_atomically(file, json.dump(2) + "\n");
  return status;
}
