#include "kernels/layer_steps.h"

#include <fmt/format.h>

#include "kernels/grouped_gemm.h"

namespace moetune {

namespace {

constexpr const char* sort_source = "kernels/moe/sort.cu";
constexpr const char* quantise_source = "kernels/moe/quantise.cu";
constexpr const char* activation_source = "kernels/moe/activation.cu";
constexpr const char* combine_source = "kernels/moe/combine.cu";

struct SortArgs {
  CUdeviceptr topk_ids, sorted_token_ids, expert_ids, num_tokens_post_padded;
  std::int32_t slots, experts, block_m, block_capacity;
};

struct QuantiseArgs {
  CUdeviceptr in, out, scale, tensor_scale;
  std::int32_t rows, k, group;
};

struct ActivationArgs {
  CUdeviceptr in, out, scale, tensor_scale, topk_ids;
  std::int32_t slots, shard, group;
};

struct CombineArgs {
  CUdeviceptr in, out, topk_ids;
  std::int32_t tokens, topk, hidden;
};

const char* type16(const Workload& w) { return w.dtype == Dtype::fp16 ? "moetune::Fp16" : "moetune::Bf16"; }

// Values of a row that one activation scale covers.
int scale_group(const Workload& w, int row) { return w.scales == Scales::block ? w.block_shape->k : row; }

unsigned warps_of_eight(std::int64_t warps) { return static_cast<unsigned>((warps + 7) / 8); }

std::string always_supported(const Workload&, const GpuLimits&) { return {}; }
std::vector<int> no_shared_bytes(const Problem&, Step, const Config&) { return {0}; }
double no_prediction(const Problem&, Step, const Config&) { return 0; }

Family plain_family(const char* name, const char* description, const char* source, Step step) {
  Family f;
  f.name = name;
  f.description = description;
  f.steps = {step};
  f.source = source;
  f.host = "src/kernels/layer_steps.cpp";
  f.unsupported = always_supported;
  f.dynamic_shared_bytes = no_shared_bytes;
  f.predicted_us = no_prediction;
  f.accumulate = "fp32";
  return f;
}

}  // namespace

Family sort_family() {
  Family f =
      plain_family("sort_slots", "groups token slots by expert, runs aligned to BLOCK_SIZE_M", sort_source, Step::sort);
  f.kernels = [](const Problem&, Step, const Config&) {
    return std::vector<KernelSource>{{sort_source, "moetune::sort_slots"}};
  };
  f.bind = [](const Problem& p, Step, const Config& config, const std::vector<LoadedKernel>& kernels) -> LaunchStep {
    const int block_m = static_cast<int>(config.at("BLOCK_SIZE_M"));
    const SortArgs args{0,
                        0,
                        0,
                        0,
                        p.tokens * p.workload.topk,
                        p.workload.local_experts(),
                        block_m,
                        static_cast<int>(m_block_bound(p.workload, p.tokens, block_m))};
    return [args, function = kernels.at(0).function](const LayerCall& call, const Stream& stream) {
      SortArgs a = args;
      a.topk_ids = call.tensors.topk_ids;
      a.sorted_token_ids = call.tensors.sorted_token_ids;
      a.expert_ids = call.tensors.expert_ids;
      a.num_tokens_post_padded = call.tensors.num_tokens_post_padded;
      launch(function, {.block_x = 1024}, stream, {&a});
    };
  };
  return f;
}

Family quantise_family() {
  Family f = plain_family("quantise_rows", "16-bit hidden states to e4m3 with scales", quantise_source, Step::quantise);
  f.kernels = [](const Problem& p, Step, const Config&) {
    return std::vector<KernelSource>{{quantise_source, fmt::format("moetune::quantise_rows<{}>", type16(p.workload))}};
  };
  f.bind = [](const Problem& p, Step, const Config&, const std::vector<LoadedKernel>& kernels) -> LaunchStep {
    const Workload& w = p.workload;
    const int group = scale_group(w, w.hidden);
    const bool given = w.scales == Scales::tensor;
    const unsigned grid = warps_of_eight(static_cast<std::int64_t>(p.tokens) * ((w.hidden + group - 1) / group));
    const QuantiseArgs args{0, 0, 0, 0, p.tokens, w.hidden, group};
    return [=, function = kernels.at(0).function](const LayerCall& call, const Stream& stream) {
      QuantiseArgs a = args;
      a.in = call.tensors.hidden;
      a.out = call.tensors.a1;
      a.scale = call.tensors.a1_scale;
      a.tensor_scale = given ? call.weights.a1_tensor_scale : 0;
      launch(function, {.grid_x = grid, .block_x = 256}, stream, {&a});
    };
  };
  return f;
}

Family silu_mul_family() {
  Family f = plain_family("silu_mul", "SiLU(gate) * up, requantised for fp8", activation_source, Step::activation);
  f.kernels = [](const Problem& p, Step, const Config&) {
    const bool fp8 = p.workload.dtype == Dtype::fp8_w8a8;
    return std::vector<KernelSource>{
        {activation_source, fmt::format("moetune::silu_mul<{}, {}>", type16(p.workload), fp8)}};
  };
  f.bind = [](const Problem& p, Step, const Config&, const std::vector<LoadedKernel>& kernels) -> LaunchStep {
    const Workload& w = p.workload;
    const int slots = p.tokens * w.topk;
    // Without scales the groups only deal out the work.
    const int group = w.scales == Scales::none ? 512 : scale_group(w, w.shard());
    const bool given = w.scales == Scales::tensor;
    const unsigned grid = warps_of_eight(static_cast<std::int64_t>(slots) * ((w.shard() + group - 1) / group));
    const ActivationArgs args{0, 0, 0, 0, 0, slots, w.shard(), group};
    return [=, function = kernels.at(0).function](const LayerCall& call, const Stream& stream) {
      ActivationArgs a = args;
      a.in = call.tensors.gemm1_out;
      a.out = call.tensors.a2;
      a.scale = call.tensors.a2_scale;
      a.tensor_scale = given ? call.weights.a2_tensor_scale : 0;
      a.topk_ids = call.tensors.topk_ids;
      launch(function, {.grid_x = grid, .block_x = 256}, stream, {&a});
    };
  };
  return f;
}

Family topk_sum_family() {
  Family f = plain_family("topk_sum", "sum over a token's slots, in slot order", combine_source, Step::combine);
  f.kernels = [](const Problem& p, Step, const Config&) {
    return std::vector<KernelSource>{{combine_source, fmt::format("moetune::topk_sum<{}>", type16(p.workload))}};
  };
  f.bind = [](const Problem& p, Step, const Config&, const std::vector<LoadedKernel>& kernels) -> LaunchStep {
    const Workload& w = p.workload;
    const CombineArgs args{0, 0, 0, p.tokens, w.topk, w.hidden};
    const LaunchShape shape{.grid_x = static_cast<unsigned>((w.hidden / 8 + 255) / 256),
                            .grid_y = static_cast<unsigned>(p.tokens),
                            .block_x = 256};
    return [=, function = kernels.at(0).function](const LayerCall& call, const Stream& stream) {
      CombineArgs a = args;
      a.in = call.tensors.gemm2_out;
      a.out = call.tensors.output;
      a.topk_ids = call.tensors.topk_ids;
      launch(function, shape, stream, {&a});
    };
  };
  return f;
}

}  // namespace moetune
