// What holds without a GPU: the words for what is missing, and which failures end a context.
#include "gpu/driver.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "base/error.h"

namespace moetune {
namespace {

// The driver is looked for once a process, so another library needs a process of its own.
class OtherLibraryDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  [[noreturn]] static void tell_state_with(const char* library) {
    setenv("MOETUNE_LIBCUDA", library, 1);
    const DriverState state = driver_state();
    std::cerr << (state.loaded ? "loaded" : "not loaded") << ", " << state.devices.size() << " GPUs: " << state.problem;
    std::exit(0);
  }
};

TEST_F(OtherLibraryDeathTest, MissingFileIsNamed) {
  EXPECT_EXIT(tell_state_with("/nowhere/libcuda.so.1"), testing::ExitedWithCode(0),
              "not loaded, 0 GPUs: MOETUNE_LIBCUDA.*/nowhere/libcuda.so.1");
}

TEST_F(OtherLibraryDeathTest, FileThatIsNoLibraryIsNamed) {
  EXPECT_EXIT(tell_state_with(MOETUNE_SOURCE_DIR "/CMakeLists.txt"), testing::ExitedWithCode(0),
              "not loaded, 0 GPUs: MOETUNE_LIBCUDA.*CMakeLists.txt");
}

TEST_F(OtherLibraryDeathTest, LibraryThatIsNoDriverTellsWhatItLacks) {
  EXPECT_EXIT(tell_state_with("libm.so.6"), testing::ExitedWithCode(0),
              "not loaded, 0 GPUs: libm.so.6 lacks cuInit: .*CUDA 11.4");
}

TEST_F(OtherLibraryDeathTest, DeviceTellsWhyThereIsNone) {
  const auto open_device = [] {
    setenv("MOETUNE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    try {
      const Device device(0);
    } catch (const Error& error) {
      std::cerr << error.what();
      std::exit(static_cast<int>(error.code()));
    }
    std::exit(0);
  };
  EXPECT_EXIT(open_device(), testing::ExitedWithCode(static_cast<int>(ExitCode::no_device)),
              "no GPU: .*/nowhere/libcuda.so.1");
}

TEST(Driver, StateWithoutALibrary) {
  const DriverState state = driver_state();
  if (state.loaded || std::getenv("MOETUNE_LIBCUDA") != nullptr) GTEST_SKIP() << "this machine has a driver";
  EXPECT_EQ(state.version, 0);
  EXPECT_TRUE(state.devices.empty());
  EXPECT_NE(state.problem.find("libcuda.so.1 not found"), std::string::npos) << state.problem;
}

TEST(Driver, DeviceThatIsNotThere) {
  const auto error_of_device = [](int ordinal) {
    try {
      const Device device(ordinal);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::no_device);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const DriverState state = driver_state();
  const std::string cause = state.devices.empty() ? "no GPU: " + state.problem : "no GPU 999: found";
  EXPECT_NE(error_of_device(999).find(cause), std::string::npos) << error_of_device(999);
  if (state.devices.empty()) return;
  EXPECT_NE(error_of_device(-1).find("no GPU -1"), std::string::npos) << error_of_device(-1);
}

TEST(Driver, TooOldOnlyForANewerMajorVersion) {
  EXPECT_EQ(driver_too_old(13000, 13, 0), "");
  EXPECT_EQ(driver_too_old(13000, 13, 2), "");  // minor version compatibility
  EXPECT_EQ(driver_too_old(13000, 12, 8), "");
  EXPECT_EQ(driver_too_old(12080, 12, 9), "");
  EXPECT_NE(driver_too_old(12080, 13, 0), "");
  EXPECT_NE(driver_too_old(11080, 12, 0), "");
}

TEST(Driver, TooOldTellsWhatIsThereAndWhatToDo) {
  const std::string text = driver_too_old(12080, 13, 1);
  for (const char* part : {"12.8", "13.1", "update the driver", "CUDA 13", "--nvrtc", "CUDA 12"}) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
  }
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(GpuError, FaultsOfAKernelEndTheContext) {
  for (const CUresult fatal :
       {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_TIMEOUT,
        CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ASSERT, CUDA_ERROR_ECC_UNCORRECTABLE}) {
    EXPECT_TRUE(GpuError(fatal, "").poisons_context()) << fatal;
  }
}

TEST(GpuError, RefusedCallsDoNotEndTheContext) {
  for (const CUresult refused :
       {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_INVALID_SOURCE}) {
    EXPECT_FALSE(GpuError(refused, "").poisons_context()) << refused;
  }
  EXPECT_TRUE(GpuError(CUDA_ERROR_OUT_OF_MEMORY, "").out_of_memory());
  EXPECT_FALSE(GpuError(CUDA_ERROR_INVALID_VALUE, "").out_of_memory());
}

}  // namespace
}  // namespace moetune
