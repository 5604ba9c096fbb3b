// The wrappers of the driver API on a real GPU. None of these needs NVRTC.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/driver.h"

namespace moetune {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

class DriverGpu : public testing::Test {
 protected:
  void SetUp() override {
    const DriverState state = driver_state();
    if (state.devices.empty()) GTEST_SKIP() << "no GPU: " << state.problem;
    device_ = std::make_unique<Device>(0);
  }

  std::unique_ptr<Device> device_;
};

std::vector<std::uint8_t> contents(const Buffer& buffer) {
  std::vector<std::uint8_t> bytes(buffer.bytes());
  buffer.download(bytes.data(), bytes.size());
  return bytes;
}

bool all_are(const std::vector<std::uint8_t>& bytes, std::uint8_t value) {
  return std::all_of(bytes.begin(), bytes.end(), [&](std::uint8_t b) { return b == value; });
}

std::vector<std::uint8_t> pattern(std::size_t bytes, unsigned start) {
  std::vector<std::uint8_t> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>((i * 31 + start) % 251);
  return data;
}

TEST_F(DriverGpu, LimitsAreThoseOfAGpu) {
  const GpuLimits& l = device_->limits();
  EXPECT_EQ(l.name, driver_state().devices.front());
  EXPECT_EQ(l.arch, arch_for_compute_capability(l.compute_capability));
  EXPECT_GE(l.compute_capability, 70);
  EXPECT_GE(l.sm_count, 1);
  EXPECT_GE(l.shared_memory_per_block_optin, 64 * 1024);
  EXPECT_GE(l.shared_memory_per_sm, l.shared_memory_per_block_optin);
  EXPECT_EQ(l.registers_per_sm, 65536);
  EXPECT_GE(l.max_threads_per_sm, 1024);
  EXPECT_GE(l.l2_bytes, static_cast<std::int64_t>(mebibyte));
  EXPECT_GE(l.driver_version, 11040);
  EXPECT_GT(device_->free_memory(), 0);
  EXPECT_LE(device_->free_memory(), l.memory_bytes);
  if (l.memory_bandwidth != 0) {  // the driver tells the memory's clock
    EXPECT_GT(l.memory_bandwidth, 5e10);
    EXPECT_LT(l.memory_bandwidth, 5e13);
  }
}

TEST_F(DriverGpu, DownloadGivesWhatWasUploaded) {
  Buffer buffer(3 * mebibyte + 5);
  const std::vector<std::uint8_t> data = pattern(buffer.bytes(), 1);
  buffer.upload(data.data(), data.size());
  EXPECT_EQ(contents(buffer), data);

  const std::vector<std::uint8_t> part = pattern(1000, 7);
  buffer.upload(part.data(), part.size(), 77);
  std::vector<std::uint8_t> back(part.size());
  buffer.download(back.data(), back.size(), 77);
  EXPECT_EQ(back, part);
  std::vector<std::uint8_t> expected = data;
  std::copy(part.begin(), part.end(), expected.begin() + 77);
  EXPECT_EQ(contents(buffer), expected) << "bytes outside the part changed";
}

TEST_F(DriverGpu, StreamsSeeAnUploadAtOnce) {
  const Stream stream;
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{60000}, mebibyte, 64 * mebibyte}) {
    Buffer from(bytes), to(bytes);
    for (unsigned round = 0; round < 5; ++round) {
      const std::vector<std::uint8_t> data = pattern(bytes, round);
      from.upload(data.data(), bytes);
      copy_async(to.ptr(), from.ptr(), bytes, stream);
      stream.synchronize();
      ASSERT_EQ(contents(to), data) << bytes << " bytes, round " << round;
    }
  }
}

TEST_F(DriverGpu, FillReachesEveryByte) {
  const Stream stream;
  Buffer buffer(mebibyte + 3);
  for (const std::uint8_t value : {std::uint8_t{0xff}, std::uint8_t{0}, std::uint8_t{0x5a}}) {
    buffer.fill_bytes(value, stream);
    stream.synchronize();
    EXPECT_TRUE(all_are(contents(buffer), value)) << int{value};
  }
}

TEST_F(DriverGpu, EmptyBufferIsHarmless) {
  const Stream stream;
  Buffer buffer(0);
  buffer.fill_bytes(1, stream);
  buffer.upload(nullptr, 0);
  buffer.download(nullptr, 0);
  copy_async(0, 0, 0, stream);
  stream.synchronize();
  EXPECT_EQ(buffer.ptr(), 0u);
}

TEST_F(DriverGpu, MovedBufferKeepsItsMemory) {
  Buffer first(1000);
  const std::vector<std::uint8_t> data = pattern(1000, 3);
  first.upload(data.data(), data.size());
  const CUdeviceptr ptr = first.ptr();
  Buffer second(std::move(first));
  EXPECT_EQ(second.ptr(), ptr);
  Buffer third;
  third = std::move(second);
  EXPECT_EQ(third.ptr(), ptr);
  EXPECT_EQ(contents(third), data);
}

TEST_F(DriverGpu, DestructionGivesMemoryBack) {
  // Only one of these fits at a time.
  const auto most = static_cast<std::size_t>(device_->free_memory()) / 10 * 6;
  for (int i = 0; i < 3; ++i) EXPECT_NO_THROW(Buffer{most}) << "allocation " << i;
}

TEST_F(DriverGpu, TooMuchMemoryIsReportedAndSurvived) {
  try {
    const Buffer buffer(std::size_t{1} << 50);
    FAIL() << "a PiB was allocated";
  } catch (const GpuError& error) {
    EXPECT_TRUE(error.out_of_memory()) << error.what();
    EXPECT_FALSE(error.poisons_context());
    EXPECT_NE(std::string(error.what()).find("1125899906842624 bytes"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(Buffer{mebibyte});
}

TEST_F(DriverGpu, BytesThatAreNoKernelAreRefusedAndSurvived) {
  try {
    const Module module("these bytes are no cubin");
    FAIL() << "loaded";
  } catch (const GpuError& error) {
    EXPECT_FALSE(error.poisons_context()) << error.what();
    EXPECT_FALSE(error.out_of_memory()) << error.what();
  }
  EXPECT_NO_THROW(device_->synchronize());
}

// The host's time around the work is an upper limit; no memory is faster than 50 TB/s, which gives the lower one.
void expect_plausible(double microseconds, std::chrono::steady_clock::duration host, double bytes) {
  const double limit = std::chrono::duration<double, std::micro>(host).count();
  EXPECT_LE(microseconds, limit);
  EXPECT_GT(microseconds, bytes / 50e12 * 1e6);
}

TEST_F(DriverGpu, EventsTimeAStreamInMicroseconds) {
  const Stream stream;
  const Event start, stop;
  Buffer buffer(512 * mebibyte);
  buffer.fill_bytes(0, stream);
  stream.synchronize();
  const auto before = std::chrono::steady_clock::now();
  start.record(stream);
  buffer.fill_bytes(1, stream);
  stop.record(stream);
  stop.synchronize();
  const auto host = std::chrono::steady_clock::now() - before;
  expect_plausible(microseconds_between(start, stop), host, static_cast<double>(buffer.bytes()));
}

TEST_F(DriverGpu, EventsWithoutARecordAreAnError) {
  const Event start, stop;
  EXPECT_THROW(microseconds_between(start, stop), GpuError);
}

TEST_F(DriverGpu, GraphRunsAtReplayAndNotBefore) {
  const Stream stream;
  Buffer buffer(mebibyte);
  buffer.fill_bytes(0, stream);
  stream.synchronize();
  Graph captured(stream, [&] { buffer.fill_bytes(0x11, stream); });
  stream.synchronize();
  EXPECT_TRUE(all_are(contents(buffer), 0)) << "the capture ran the work";
  const Graph graph(std::move(captured));
  for (int i = 0; i < 2; ++i) {
    buffer.fill_bytes(0, stream);
    graph.replay(stream);
    stream.synchronize();
    EXPECT_TRUE(all_are(contents(buffer), 0x11)) << "replay " << i;
  }
}

TEST_F(DriverGpu, EventsInAGraphAreRecordedAtEveryReplay) {
  const Stream stream;
  const Event start, stop;
  Buffer buffer(512 * mebibyte);
  const Graph graph(stream, [&] {
    start.record_in_graph(stream);
    buffer.fill_bytes(1, stream);
    stop.record_in_graph(stream);
  });
  for (int i = 0; i < 3; ++i) {
    const auto before = std::chrono::steady_clock::now();
    graph.replay(stream);
    stream.synchronize();
    const auto host = std::chrono::steady_clock::now() - before;
    expect_plausible(microseconds_between(start, stop), host, static_cast<double>(buffer.bytes()));
  }
}

TEST_F(DriverGpu, CaptureThatThrowsLeavesTheStreamUsable) {
  const Stream stream;
  Buffer buffer(mebibyte);
  buffer.fill_bytes(0, stream);
  const auto failing = [&] {
    buffer.fill_bytes(0x22, stream);
    throw std::runtime_error("half way");
  };
  EXPECT_THROW(Graph(stream, failing), std::runtime_error);
  stream.synchronize();  // an error while the stream still captures
  EXPECT_TRUE(all_are(contents(buffer), 0));
  const Graph graph(stream, [&] { buffer.fill_bytes(0x33, stream); });
  graph.replay(stream);
  stream.synchronize();
  EXPECT_TRUE(all_are(contents(buffer), 0x33));
}

TEST_F(DriverGpu, DeviceCanBeOpenedAgain) {
  device_.reset();
  device_ = std::make_unique<Device>(0);
  const Stream stream;
  Buffer buffer(1000);
  buffer.fill_bytes(9, stream);
  stream.synchronize();
  EXPECT_TRUE(all_are(contents(buffer), 9));
}

}  // namespace
}  // namespace moetune
