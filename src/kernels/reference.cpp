#include "kernels/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace moetune {

namespace {

constexpr const char* check_file = "kernels/reference/check.cu";
constexpr const char* reference_file = "kernels/reference/reference.cu";

const char* type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16:
      return "moetune::Bf16";
    case Dtype::fp16:
      return "moetune::Fp16";
    case Dtype::fp8_w8a8:
      return "moetune::E4m3";
  }
  return "?";
}

const char* type16(const Workload& w) { return w.dtype == Dtype::fp16 ? "moetune::Fp16" : "moetune::Bf16"; }

unsigned grid_for(std::int64_t items, int per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

// The argument structs of kernels/reference/*.cu.
struct FillArgs {
  CUdeviceptr out;
  std::uint64_t count, seed;
  std::int32_t kind;
  float scale;
};
struct GemmArgs {
  CUdeviceptr a, b, c, a_scale, b_scale, weights, topk_ids;
  std::int32_t n, k, slots, slots_per_row, scales, block_n, block_k;
};
struct QuantiseArgs {
  CUdeviceptr in, out, scale, tensor_scale;
  std::int32_t rows, k, group, in_is_float;
};
struct ActivationArgs {
  CUdeviceptr in, out, out16;
  std::int32_t slots, shard;
};
struct CombineArgs {
  CUdeviceptr in, out, topk_ids;
  std::int32_t tokens, topk, hidden;
};
struct CompareArgs {
  CUdeviceptr out, reference, topk_ids, row_error, row_norm, row_largest, mismatches;
  std::int32_t columns;
};
struct ReadChainArgs {
  CUdeviceptr weights, experts, sink;
  std::uint64_t bytes_per_expert;
  std::int32_t active;
};

void fill(KernelStore& store, const Stream& stream, const std::string& kernel, FillArgs args) {
  const unsigned grid = std::min(grid_for(static_cast<std::int64_t>(args.count), 256), 132u * 64);
  launch(store.get({check_file, kernel}), {.grid_x = std::max(1u, grid), .block_x = 256}, stream, {&args});
}

void quantise(KernelStore& store, const Stream& stream, const Workload& w, CUdeviceptr in, bool in_is_float, int rows,
              int k, CUdeviceptr out, CUdeviceptr scale, CUdeviceptr tensor_scale) {
  const int group = w.scales == Scales::block ? w.block_shape->k : k;
  QuantiseArgs args{in, out, scale, w.scales == Scales::tensor ? tensor_scale : 0, rows, k, group, in_is_float};
  const std::int64_t groups = static_cast<std::int64_t>(rows) * ((k + group - 1) / group);
  launch(store.get({reference_file, fmt::format("moetune::reference_quantise<{}>", type16(w))}),
         {.grid_x = grid_for(groups, 128), .block_x = 128}, stream, {&args});
}

}  // namespace

void fill_values(KernelStore& store, const Stream& stream, Dtype operand, CUdeviceptr out, std::uint64_t count,
                 std::uint64_t seed, FillKind kind, float scale) {
  fill(store, stream, fmt::format("moetune::fill_values<{}>", type_of(operand)),
       {out, count, seed << 32, static_cast<int>(kind), scale});
}

void fill_floats(KernelStore& store, const Stream& stream, CUdeviceptr out, std::uint64_t count, std::uint64_t seed,
                 FillKind kind, float scale) {
  fill(store, stream, "moetune::fill_float", {out, count, seed << 32, static_cast<int>(kind), scale});
}

void reference_gemm(KernelStore& store, const Stream& stream, const Workload& w, int tokens, Step step,
                    const LayerCall& call, CUdeviceptr out) {
  const LayerTensors& t = call.tensors;
  const bool first = step == Step::gemm1;
  const int slots = tokens * w.topk;
  const int n = first ? 2 * w.shard() : w.hidden;
  const int k = first ? w.hidden : w.shard();
  GemmArgs args{first ? t.a1 : t.a2,
                first ? call.weights.w1 : call.weights.w2,
                out,
                first ? t.a1_scale : t.a2_scale,
                first ? call.weights.w1_scale : call.weights.w2_scale,
                first ? 0 : t.topk_weights,
                t.topk_ids,
                n,
                k,
                slots,
                first ? w.topk : 1,
                static_cast<int>(w.scales),
                w.block_shape ? w.block_shape->n : 0,
                w.block_shape ? w.block_shape->k : 0};
  const std::string kernel = fmt::format("moetune::reference_gemm<{}, {}>", type_of(w.dtype), type16(w));
  launch(store.get({reference_file, kernel}),
         {.grid_x = grid_for(static_cast<std::int64_t>(slots) * n, 8), .block_x = 256}, stream, {&args});
}

void reference_layer(KernelStore& store, const Stream& stream, const Workload& w, int tokens, const LayerCall& call,
                     CUdeviceptr out) {
  const LayerTensors& t = call.tensors;
  const bool fp8 = w.dtype == Dtype::fp8_w8a8;
  const int slots = tokens * w.topk;
  const auto elements = static_cast<std::size_t>(slots);
  if (fp8)
    quantise(store, stream, w, t.hidden, false, tokens, w.hidden, t.a1, t.a1_scale, call.weights.a1_tensor_scale);
  {
    Buffer gate_up(elements * 2 * w.shard() * 4);
    Buffer activated(elements * w.shard() * 4);
    gate_up.fill_bytes(0, stream);  // slots of other ranks stay zero
    reference_gemm(store, stream, w, tokens, Step::gemm1, call, gate_up.ptr());
    ActivationArgs activation{gate_up.ptr(), activated.ptr(), fp8 ? 0 : t.a2, slots, w.shard()};
    launch(store.get({reference_file, fmt::format("moetune::reference_activation<{}>", type16(w))}),
           {.grid_x = grid_for(static_cast<std::int64_t>(slots) * w.shard(), 256), .block_x = 256}, stream,
           {&activation});
    if (fp8) {
      quantise(store, stream, w, activated.ptr(), true, slots, w.shard(), t.a2, t.a2_scale,
               call.weights.a2_tensor_scale);
    }
    stream.synchronize();
  }
  Buffer down(elements * w.hidden * 4);
  down.fill_bytes(0, stream);
  reference_gemm(store, stream, w, tokens, Step::gemm2, call, down.ptr());
  CombineArgs combine{down.ptr(), out, t.topk_ids, tokens, w.topk, w.hidden};
  launch(store.get({reference_file, "moetune::reference_combine"}),
         {.grid_x = grid_for(static_cast<std::int64_t>(tokens) * w.hidden, 256), .block_x = 256}, stream, {&combine});
  stream.synchronize();
}

Comparison compare_rows(KernelStore& store, const Stream& stream, const Workload& w, CUdeviceptr out,
                        CUdeviceptr reference, CUdeviceptr row_ids, int rows, int columns) {
  const std::size_t bytes = static_cast<std::size_t>(rows) * 4;
  Buffer results(bytes * 4);
  const CUdeviceptr base = results.ptr();
  CompareArgs args{out, reference, row_ids, base, base + bytes, base + 2 * bytes, base + 3 * bytes, columns};
  launch(store.get({check_file, fmt::format("moetune::compare_rows<{}>", type16(w))}),
         {.grid_x = static_cast<unsigned>(rows), .block_x = 256}, stream, {&args});
  stream.synchronize();
  std::vector<float> values(static_cast<std::size_t>(rows) * 3);
  std::vector<std::int32_t> mismatches(static_cast<std::size_t>(rows));
  results.download(values.data(), bytes * 3);
  results.download(mismatches.data(), bytes, bytes * 3);

  Comparison c;
  double error = 0, norm = 0;
  for (int row = 0; row < rows; ++row) {
    const double e = values[row], n = values[rows + row], largest = values[2 * rows + row];
    c.mismatches += mismatches[row];
    if (!std::isfinite(e)) c.finite = false;
    error += e;
    norm += n;
    if (n > 0) {
      c.worst_row_err = std::max(c.worst_row_err, std::sqrt(e / n));
      c.worst_element = std::max(c.worst_element, largest / std::sqrt(n / columns));
    } else if (e > 0) {
      c.worst_row_err = std::max(c.worst_row_err, 1.0);
    }
  }
  c.rel_err = norm > 0 ? std::sqrt(error / norm) : (error > 0 ? 1.0 : 0.0);
  return c;
}

void read_chain(KernelStore& store, const Stream& stream, int sm_count, CUdeviceptr weights, CUdeviceptr experts,
                int active, std::int64_t bytes_per_expert, CUdeviceptr sink) {
  ReadChainArgs args{weights, experts, sink, static_cast<std::uint64_t>(bytes_per_expert), active};
  launch(store.get({check_file, "moetune::read_chain"}), {.grid_x = 2u * sm_count, .block_x = 512}, stream, {&args});
}

}  // namespace moetune
