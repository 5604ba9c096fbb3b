#include "measure/layer_data.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/reference.h"

namespace moetune {

namespace {

std::size_t blocks(std::int64_t size, int block) { return static_cast<std::size_t>((size + block - 1) / block); }

std::size_t weight_scales(const Workload& w, std::int64_t n, std::int64_t k) {
  const auto experts = static_cast<std::size_t>(w.local_experts());
  switch (w.scales) {
    case Scales::none:
      return 1;
    case Scales::tensor:
      return experts;
    case Scales::channel:
      return experts * static_cast<std::size_t>(n);
    case Scales::block:
      return experts * blocks(n, w.block_shape->n) * blocks(k, w.block_shape->k);
  }
  return 1;
}

std::size_t row_scales(const Workload& w, std::int64_t rows, std::int64_t k) {
  if (w.scales == Scales::block) return static_cast<std::size_t>(rows) * blocks(k, w.block_shape->k);
  return w.scales == Scales::channel ? static_cast<std::size_t>(rows) : 1;
}

}  // namespace

LayerWeights WeightSet::view() const {
  return {w1.ptr(), w1_scale.ptr(), w2.ptr(), w2_scale.ptr(), a1_tensor_scale.ptr(), a2_tensor_scale.ptr()};
}

std::int64_t weight_set_bytes(const Workload& w) {
  return (w1_bytes_per_expert(w) + w2_bytes_per_expert(w)) * w.local_experts();
}

WeightSet make_weights(const Workload& w, Values values, std::uint64_t seed, KernelStore& store, const Stream& stream) {
  const std::size_t experts = static_cast<std::size_t>(w.local_experts());
  const std::int64_t n1 = 2 * w.shard(), k1 = w.hidden, n2 = w.hidden, k2 = w.shard();
  WeightSet set;
  const std::size_t count1 = experts * n1 * k1, count2 = experts * n2 * k2;
  set.w1 = Buffer(count1 * w.element_bytes());
  set.w2 = Buffer(count2 * w.element_bytes());
  set.w1_scale = Buffer(weight_scales(w, n1, k1) * 4);
  set.w2_scale = Buffer(weight_scales(w, n2, k2) * 4);
  set.a1_tensor_scale = Buffer(4);
  set.a2_tensor_scale = Buffer(4);

  const bool exact = values == Values::integers;
  // Codes of e4m3 use its range; scales then bring each GEMM's output to about 1.
  const float spread = w.dtype == Dtype::fp8_w8a8 ? 60.0f : 1.0f / std::sqrt(static_cast<float>(k1));
  const auto fill = [&](Buffer& buffer, std::size_t count, std::int64_t k, std::uint64_t salt) {
    const float deviation = w.dtype == Dtype::fp8_w8a8 ? spread : 1.0f / std::sqrt(static_cast<float>(k));
    fill_values(store, stream, w.dtype, buffer.ptr(), count, seed * 16 + salt,
                exact ? FillKind::small_integers : FillKind::normal, deviation);
  };
  fill(set.w1, count1, k1, 1);
  fill(set.w2, count2, k2, 2);
  const auto fill_scale = [&](Buffer& buffer, std::int64_t k, std::uint64_t salt) {
    fill_floats(store, stream, buffer.ptr(), buffer.bytes() / 4, seed * 16 + salt,
                exact ? FillKind::powers_of_two : FillKind::positive,
                1.0f / (spread * std::sqrt(static_cast<float>(k))));
  };
  fill_scale(set.w1_scale, k1, 3);
  fill_scale(set.w2_scale, k2, 4);
  fill_floats(store, stream, set.a1_tensor_scale.ptr(), 1, seed * 16 + 5,
              exact ? FillKind::powers_of_two : FillKind::positive, 0.01f);
  fill_floats(store, stream, set.a2_tensor_scale.ptr(), 1, seed * 16 + 6,
              exact ? FillKind::powers_of_two : FillKind::positive, 0.01f);
  return set;
}

std::int64_t sorted_capacity(const Workload& w, int tokens) {
  const std::int64_t slots = static_cast<std::int64_t>(tokens) * w.topk;
  constexpr int largest_block = 256;
  return std::min(slots + static_cast<std::int64_t>(w.local_experts()) * (largest_block - 1), slots * largest_block);
}

LayerTensors CallBuffers::tensors(std::size_t call, const Workload& w, const WeightSet& weights) const {
  const PerCall& c = calls.at(call);
  LayerTensors t;
  t.topk_ids = c.topk_ids.ptr();
  t.topk_weights = c.topk_weights.ptr();
  t.hidden = hidden.ptr();
  const bool fp8 = w.dtype == Dtype::fp8_w8a8;
  const bool given = w.scales == Scales::tensor;
  t.a1 = fp8 ? a1.ptr() : hidden.ptr();
  t.a1_scale = given ? weights.a1_tensor_scale.ptr() : a1_scale.ptr();
  t.sorted_token_ids = c.sorted_token_ids.ptr();
  t.expert_ids = c.expert_ids.ptr();
  t.num_tokens_post_padded = c.num_tokens_post_padded.ptr();
  t.gemm1_out = gemm1_out.ptr();
  t.a2 = a2.ptr();
  t.a2_scale = given ? weights.a2_tensor_scale.ptr() : a2_scale.ptr();
  t.gemm2_out = gemm2_out.ptr();
  t.output = output.ptr();
  return t;
}

std::int64_t call_buffers_bytes(const Workload& w, int tokens, int calls) {
  const std::int64_t slots = static_cast<std::int64_t>(tokens) * w.topk;
  const std::int64_t shared = static_cast<std::int64_t>(tokens) * w.hidden * 5 + slots * w.shard() * 6 +
                              slots * w.hidden * 2 + slots * (w.hidden + w.shard()) / 16;
  return shared + calls * (sorted_capacity(w, tokens) * 8 + slots * 8);
}

CallBuffers make_call_buffers(const Workload& w, int tokens, const std::vector<Routing>& routings) {
  const std::size_t slots = static_cast<std::size_t>(tokens) * w.topk;
  CallBuffers b;
  b.hidden = Buffer(static_cast<std::size_t>(tokens) * w.hidden * 2);
  b.a1 = Buffer(static_cast<std::size_t>(tokens) * w.hidden);
  b.a1_scale = Buffer(row_scales(w, tokens, w.hidden) * 4);
  b.gemm1_out = Buffer(slots * 2 * w.shard() * 2);
  b.a2 = Buffer(slots * w.shard() * w.element_bytes());
  b.a2_scale = Buffer(row_scales(w, static_cast<std::int64_t>(slots), w.shard()) * 4);
  b.gemm2_out = Buffer(slots * w.hidden * 2);
  b.output = Buffer(static_cast<std::size_t>(tokens) * w.hidden * 2);
  for (const Routing& routing : routings) {
    CallBuffers::PerCall c;
    c.topk_ids = Buffer(slots * 4);
    c.topk_ids.upload(routing.ids.data(), slots * 4);
    c.topk_weights = Buffer(slots * 4);
    c.topk_weights.upload(routing.weights.data(), slots * 4);
    c.sorted_token_ids = Buffer(static_cast<std::size_t>(sorted_capacity(w, tokens)) * 4);
    c.expert_ids = Buffer((slots + w.local_experts() + 1) * 4);
    c.num_tokens_post_padded = Buffer(4);
    std::set<std::int32_t> ids(routing.ids.begin(), routing.ids.end());
    ids.erase(-1);
    const std::vector<std::int32_t> active(ids.begin(), ids.end());
    c.active = static_cast<int>(active.size());
    c.active_experts = Buffer(std::max<std::size_t>(1, active.size()) * 4);
    if (!active.empty()) c.active_experts.upload(active.data(), active.size() * 4);
    b.calls.push_back(std::move(c));
  }
  return b;
}

void poison(CallBuffers& b, const Workload& w, const Stream& stream) {
  const auto fill = [&](Buffer& buffer) { buffer.fill_bytes(0xff, stream); };
  if (w.dtype == Dtype::fp8_w8a8) {
    fill(b.a1);
    if (w.scales != Scales::tensor) {
      fill(b.a1_scale);
      fill(b.a2_scale);
    }
  }
  fill(b.gemm1_out);
  fill(b.a2);
  fill(b.gemm2_out);
  fill(b.output);
  for (CallBuffers::PerCall& c : b.calls) {
    fill(c.sorted_token_ids);
    fill(c.expert_ids);
    fill(c.num_tokens_post_padded);
  }
}

}  // namespace moetune
