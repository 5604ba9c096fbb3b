// The references against fp64 on the CPU, and each step's kernel against its reference.
#include <cmath>
#include <cstring>

#include "gpu_tests/gpu_fixture.h"
#include "kernels/family.h"
#include "kernels/reference.h"
#include "measure/layer_data.h"
#include "workload/routing.h"

namespace moetune {
namespace {

double value_of(Dtype dtype, const std::vector<std::uint8_t>& bytes, std::size_t i) {
  if (dtype == Dtype::fp8_w8a8) {
    const int code = bytes[i], exponent = code >> 3 & 15, mantissa = code & 7;
    const double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    return code & 0x80 ? -magnitude : magnitude;
  }
  std::uint16_t half;
  std::memcpy(&half, bytes.data() + 2 * i, 2);
  if (dtype == Dtype::bf16) {
    const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

struct Layer {
  Workload w;
  int tokens;
  std::vector<Routing> routings;
  WeightSet weights;
  CallBuffers buffers;
  LayerCall call() const { return {weights.view(), buffers.tensors(0, w, weights)}; }
};

class ReferenceGpu : public GpuTest {
 protected:
  Layer make(Dtype dtype, Scales scales, int tokens) {
    Layer layer{small_layer(dtype, scales), tokens, {}, {}, {}};
    layer.routings = draw_routings(layer.w, {}, tokens, 1, 3);
    layer.routings[0].ids[1] = -1;  // another rank's expert
    layer.weights = make_weights(layer.w, Values::random, 5, *store, *stream);
    layer.buffers = make_call_buffers(layer.w, tokens, layer.routings);
    fill_values(*store, *stream, dtype == Dtype::fp16 ? Dtype::fp16 : Dtype::bf16, layer.buffers.hidden.ptr(),
                static_cast<std::uint64_t>(tokens) * layer.w.hidden, 9, FillKind::normal, 1.0f);
    return layer;
  }

  // fp64 GEMM1 of the operands on the device against reference_gemm.
  void check_gemm(Dtype dtype, Scales scales) {
    const int tokens = 5;
    Layer layer = make(dtype, scales, tokens);
    const Workload& w = layer.w;
    const LayerCall call = layer.call();
    Buffer answer(static_cast<std::size_t>(tokens) * w.hidden * 4);
    reference_layer(*store, *stream, w, tokens, call, answer.ptr());  // also quantises a1
    const std::size_t slots = static_cast<std::size_t>(tokens) * w.topk, n = 2 * w.shard(), k = w.hidden;
    Buffer out(slots * n * 4);
    out.fill_bytes(0, *stream);
    reference_gemm(*store, *stream, w, tokens, Step::gemm1, call, out.ptr());
    const auto got = downloaded<float>(out.ptr(), slots * n, *stream);
    const auto a = downloaded<std::uint8_t>(call.tensors.a1, tokens * k * w.element_bytes(), *stream);
    const auto b = downloaded<std::uint8_t>(call.weights.w1, w.experts * n * k * w.element_bytes(), *stream);
    const std::size_t kb = k / 128, nb = n / 128;
    const std::size_t a_scales = scales == Scales::block ? tokens * kb : scales == Scales::channel ? tokens : 1;
    const std::size_t b_scales = scales == Scales::block     ? w.experts * nb * kb
                                 : scales == Scales::channel ? w.experts * n
                                                             : w.experts;
    const auto as = downloaded<float>(call.tensors.a1_scale, a_scales, *stream);
    const auto bs =
        scales == Scales::none ? std::vector<float>() : downloaded<float>(call.weights.w1_scale, b_scales, *stream);
    double error = 0, norm = 0;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      const int expert = layer.routings[0].ids[slot];
      for (std::size_t column = 0; column < n; ++column) {
        double sum = 0;
        if (expert >= 0) {
          const std::size_t row = slot / w.topk, weight_row = expert * n + column;
          for (std::size_t i = 0; i < k; ++i) {
            double product = value_of(dtype, a, row * k + i) * value_of(dtype, b, weight_row * k + i);
            if (scales == Scales::block) {
              product *= static_cast<double>(as[row * kb + i / 128]) * bs[(expert * nb + column / 128) * kb + i / 128];
            }
            sum += product;
          }
          if (scales == Scales::channel) sum *= static_cast<double>(as[row]) * bs[weight_row];
          if (scales == Scales::tensor) sum *= static_cast<double>(as[0]) * bs[expert];
        }
        const double difference = got[slot * n + column] - sum;
        error += difference * difference;
        norm += sum * sum;
      }
    }
    ASSERT_GT(norm, 0);
    EXPECT_LT(std::sqrt(error / norm), dtype == Dtype::fp16 ? 4e-4 : 2.5e-3);  // the one rounding to 16 bits
  }
};

TEST_F(ReferenceGpu, GemmBf16) { check_gemm(Dtype::bf16, Scales::none); }
TEST_F(ReferenceGpu, GemmFp16) { check_gemm(Dtype::fp16, Scales::none); }
TEST_F(ReferenceGpu, GemmFp8Block) { check_gemm(Dtype::fp8_w8a8, Scales::block); }
TEST_F(ReferenceGpu, GemmFp8Channel) { check_gemm(Dtype::fp8_w8a8, Scales::channel); }
TEST_F(ReferenceGpu, GemmFp8Tensor) { check_gemm(Dtype::fp8_w8a8, Scales::tensor); }

TEST_F(ReferenceGpu, QuantisedRowsAreNearestCodesAndEqualTheKernels) {
  for (const Scales scales : {Scales::block, Scales::channel, Scales::tensor}) {
    const int tokens = 7;
    Layer layer = make(Dtype::fp8_w8a8, scales, tokens);
    const Workload& w = layer.w;
    const LayerCall call = layer.call();
    Buffer answer(static_cast<std::size_t>(tokens) * w.hidden * 4);
    reference_layer(*store, *stream, w, tokens, call, answer.ptr());
    const std::size_t count = static_cast<std::size_t>(tokens) * w.hidden;
    const auto expected = downloaded<std::uint8_t>(call.tensors.a1, count, *stream);
    const std::size_t group = scales == Scales::block ? 128 : w.hidden;
    const auto scale = downloaded<float>(call.tensors.a1_scale, scales == Scales::tensor ? 1 : count / group, *stream);
    const auto hidden = downloaded<std::uint8_t>(call.tensors.hidden, count * 2, *stream);
    for (std::size_t i = 0; i < count; ++i) {
      const double s = scale[scales == Scales::tensor ? 0 : i / group];
      const double wanted = std::clamp(value_of(Dtype::bf16, hidden, i) / s, -448.0, 448.0);
      const double step = std::max(std::ldexp(1.0, -9), std::ldexp(1.0, std::ilogb(wanted == 0 ? 1e-9 : wanted) - 3));
      ASSERT_LE(std::fabs(value_of(Dtype::fp8_w8a8, expected, i) - wanted), step * 0.501) << i;
    }
    layer.buffers.a1.fill_bytes(0xff, *stream);
    const Problem problem{w, tokens, device->limits()};
    const Plan plan{{{{Step::quantise}, "quantise_rows", {}}}};
    for (const BoundStep& step : bind_plan(problem, plan, *store)) step.launch(call, *stream);
    EXPECT_EQ(downloaded<std::uint8_t>(call.tensors.a1, count, *stream), expected);
  }
}

TEST_F(ReferenceGpu, SortGivesEveryLocalSlotOnceInRunsOfItsExpert) {
  for (const int tokens : {1, 3, 83, 1335}) {
    for (const int block_m : {8, 16, 64, 256}) {
      Workload w = small_layer(Dtype::bf16, Scales::none, 64, 8);
      w.tp = w.ep = 4;
      const auto routings = draw_routings(w, {}, tokens, 1, 17 + tokens);
      CallBuffers buffers = make_call_buffers(w, tokens, routings);
      const WeightSet none;
      const LayerTensors t = buffers.tensors(0, w, none);
      Config config;
      config.set("BLOCK_SIZE_M", block_m);
      for (const BoundStep& step :
           bind_plan({w, tokens, device->limits()}, {{{{Step::sort}, "sort_slots", config}}}, *store)) {
        step.launch({none.view(), t}, *stream);
      }
      const int slots = tokens * w.topk;
      const int total = downloaded<std::int32_t>(t.num_tokens_post_padded, 1, *stream)[0];
      const auto sorted = downloaded<std::int32_t>(t.sorted_token_ids, total + 1, *stream);
      const auto experts = downloaded<std::int32_t>(t.expert_ids, total / block_m + 1, *stream);
      std::vector<int> seen(slots, 0);
      int expected_total = 0;
      std::vector<int> counts(w.local_experts(), 0);
      for (const int id : routings[0].ids) {
        if (id >= 0) ++counts[id];
      }
      for (const int count : counts) expected_total += (count + block_m - 1) / block_m * block_m;
      ASSERT_EQ(total, expected_total);
      for (int i = 0; i < total; ++i) {
        if (sorted[i] == slots) continue;
        ASSERT_TRUE(sorted[i] >= 0 && sorted[i] < slots);
        ++seen[sorted[i]];
        ASSERT_EQ(routings[0].ids[sorted[i]], experts[i / block_m]);
      }
      for (int slot = 0; slot < slots; ++slot) ASSERT_EQ(seen[slot], routings[0].ids[slot] >= 0 ? 1 : 0);
    }
  }
}

TEST_F(ReferenceGpu, ComparisonFindsOneWrongElementAndOneNan) {
  const Workload w = small_layer(Dtype::bf16, Scales::none);
  const int rows = 9, columns = 512;
  std::vector<std::uint16_t> out(rows * columns, 0x3f80);  // 1.0
  const std::vector<float> reference(rows * columns, 1.0f);
  Buffer a(out.size() * 2), b(reference.size() * 4);
  b.upload(reference.data(), reference.size() * 4);
  a.upload(out.data(), out.size() * 2);
  Comparison c = compare_rows(*store, *stream, w, a.ptr(), b.ptr(), 0, rows, columns);
  EXPECT_TRUE(c.finite);
  EXPECT_EQ(c.mismatches, 0);
  EXPECT_EQ(c.rel_err, 0);
  out[3 * columns + 77] = 0x4000;  // 2.0
  a.upload(out.data(), out.size() * 2);
  c = compare_rows(*store, *stream, w, a.ptr(), b.ptr(), 0, rows, columns);
  EXPECT_EQ(c.mismatches, 1);
  EXPECT_NEAR(c.worst_element, 1.0, 1e-5);
  EXPECT_NEAR(c.worst_row_err, std::sqrt(1.0 / columns), 1e-5);
  out[3 * columns + 77] = 0xffff;  // NaN: what poisoning leaves where nothing was written
  a.upload(out.data(), out.size() * 2);
  EXPECT_FALSE(compare_rows(*store, *stream, w, a.ptr(), b.ptr(), 0, rows, columns).finite);
}

}  // namespace
}  // namespace moetune
