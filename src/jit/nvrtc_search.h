// Where libnvrtc may be.
#pragma once

#include <string>
#include <vector>

namespace moetune {

struct NvrtcPlace {
  std::string name;                // what the place is called in messages ("CUDA_HOME /opt/cuda")
  std::vector<std::string> files;  // candidates for dlopen, best first; empty: nothing there
};

// In the order of find_nvrtc(), out of the environment and the file system as they are now.
std::vector<NvrtcPlace> nvrtc_places();

}  // namespace moetune
