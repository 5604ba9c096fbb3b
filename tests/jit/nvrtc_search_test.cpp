#include "jit/nvrtc_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/temp_folder.h"
#include "jit/nvrtc.h"

namespace moetune {
namespace {

// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { old_.empty() ? unsetenv(name_) : setenv(name_, old_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string old_;
};

std::size_t position(const std::vector<NvrtcPlace>& places, const std::string& name_begin) {
  const auto found = std::find_if(places.begin(), places.end(),
                                  [&](const NvrtcPlace& place) { return place.name.starts_with(name_begin); });
  return static_cast<std::size_t>(found - places.begin());
}

}  // namespace

TEST(NvrtcSearch, ANamedLibraryIsTheOnlyPlace) {
  const TempFolder folder;
  write_file_atomically(folder.path() / "libnvrtc.so.12", "");
  {
    const Variable named("MOETUNE_NVRTC", (folder.path() / "other.so").string());
    const auto places = nvrtc_places();
    ASSERT_EQ(places.size(), 1u);
    EXPECT_EQ(places[0].files, std::vector<std::string>{(folder.path() / "other.so").string()});
  }
  const Variable named("MOETUNE_NVRTC", folder.path().string());
  EXPECT_EQ(nvrtc_places().at(0).files, std::vector<std::string>{(folder.path() / "libnvrtc.so.12").string()});
}

TEST(NvrtcSearch, GoesThroughThePlacesInOrder) {
  const TempFolder folder;
  const std::filesystem::path toolkit = folder.path() / "toolkit";
  write_file_atomically(toolkit / "targets/x86_64-linux/lib/libnvrtc.so.13", "");
  write_file_atomically(toolkit / "lib64/libnvrtc.so", "");
  write_file_atomically(toolkit / "bin/nvcc", "");
  const std::filesystem::path environment = folder.path() / "venv";
  const std::filesystem::path packaged = environment / "lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13";
  write_file_atomically(packaged, "");
  const Variable home("CUDA_HOME", toolkit.string());
  const Variable path("CUDA_PATH", (folder.path() / "none").string());
  const Variable programs("PATH", (toolkit / "bin").string());
  const Variable python("VIRTUAL_ENV", environment.string());

  const auto places = nvrtc_places();
  EXPECT_EQ(position(places, "CUDA_HOME"), 0u);
  EXPECT_EQ(places[0].files,
            (std::vector<std::string>{(toolkit / "lib64/libnvrtc.so").string(),
                                      (toolkit / "targets/x86_64-linux/lib/libnvrtc.so.13").string()}));
  EXPECT_EQ(position(places, "CUDA_PATH"), 1u);
  EXPECT_TRUE(places[1].files.empty());
  EXPECT_LT(position(places, "CUDA_PATH"), position(places, "nvcc in"));
  EXPECT_LT(position(places, "nvcc in"), position(places, "the dynamic loader"));
  const std::size_t pip = position(places, "pip packages");
  ASSERT_EQ(pip, places.size() - 1);
  ASSERT_FALSE(places[pip].files.empty());
  EXPECT_EQ(places[pip].files[0], packaged.string());
}

}  // namespace moetune
