// A GPU for a test, or the test is skipped.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "gpu/driver.h"
#include "kernels/kernel_store.h"
#include "workload/workload.h"

namespace moetune {

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const DriverState state = driver_state();
    if (state.devices.empty()) GTEST_SKIP() << "no GPU: " << state.problem;
    device = std::make_unique<Device>(0);
    store = std::make_unique<KernelStore>(device->limits().arch);
    stream.emplace();
  }
  void TearDown() override {
    stream.reset();
    store.reset();
    device.reset();
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<KernelStore> store;
  std::optional<Stream> stream;
};

inline Workload small_layer(Dtype dtype, Scales scales, int experts = 16, int topk = 4, int hidden = 512,
                            int shard = 256) {
  Workload w;
  w.model = "test";
  w.experts = experts;
  w.topk = topk;
  w.hidden = hidden;
  w.intermediate = shard;
  w.dtype = dtype;
  w.scales = scales;
  if (scales == Scales::block) w.block_shape = BlockShape{128, 128};
  return w;
}

template <class T>
std::vector<T> downloaded(CUdeviceptr from, std::size_t count, const Stream& stream) {
  Buffer copy(count * sizeof(T));
  copy_async(copy.ptr(), from, count * sizeof(T), stream);
  stream.synchronize();
  std::vector<T> values(count);
  copy.download(values.data(), count * sizeof(T));
  return values;
}

}  // namespace moetune
