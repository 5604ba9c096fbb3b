// Kernel sources and a cubin cache of one test's own.
#pragma once

#include <cstdlib>

#include "base/files.h"
#include "base/temp_folder.h"

namespace moetune {

class JitFolders {
 public:
  JitFolders() {
    setenv("MOETUNE_DATA_DIR", data().c_str(), 1);
    setenv("MOETUNE_CACHE_DIR", cache().c_str(), 1);
    add("kernels/ptx/scale.cuh",
        "#pragma once\n#include \"ptx/types.cuh\"\n"
        "__device__ inline f32 scaled(f32 x) { return x * 3.0f; }\n");
    add("kernels/ptx/types.cuh", "#pragma once\nusing f32 = float;\n");
    add("kernels/moe/scale.cu", R"(#include "ptx/scale.cuh"
namespace moetune {
template <int N>
__global__ void scale(f32* data) {
  __shared__ f32 staged[N];
  staged[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = scaled(staged[N - 1 - threadIdx.x]);
}
}  // namespace moetune
)");
  }
  ~JitFolders() {
    unsetenv("MOETUNE_DATA_DIR");
    unsetenv("MOETUNE_CACHE_DIR");
  }
  void add(const std::string& path, const std::string& text) const { write_file_atomically(data() / path, text); }
  std::filesystem::path data() const { return folder_.path() / "data"; }
  std::filesystem::path cache() const { return folder_.path() / "cache"; }

 private:
  TempFolder folder_;
};

}  // namespace moetune
