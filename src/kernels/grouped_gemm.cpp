#include "kernels/grouped_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace moetune {

namespace {

constexpr const char* source_file = "kernels/moe/grouped_gemm.cu";

// Mirrors GroupedGemmArgs of kernels/moe/grouped_gemm.cu.
struct GroupedGemmArgs {
  CUdeviceptr a, b, c, a_scale, b_scale, topk_weights, sorted_token_ids, expert_ids, num_tokens_post_padded;
  std::int32_t n, k, m_blocks, slots, slots_per_row, group_size_m, block_n, block_k;
};

struct GemmShape {
  int n, k;
};

GemmShape shape_of(const Workload& w, Step step) {
  return step == Step::gemm1 ? GemmShape{2 * w.shard(), w.hidden} : GemmShape{w.hidden, w.shard()};
}

const char* operand_type(Dtype dtype) {
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

const char* output_type(Dtype dtype) { return dtype == Dtype::fp16 ? "moetune::Fp16" : "moetune::Bf16"; }

int stage_bytes(const Workload& w, const Config& config) {
  const auto bm = config.at("BLOCK_SIZE_M"), bn = config.at("BLOCK_SIZE_N"), bk = config.at("BLOCK_SIZE_K");
  const auto scales = w.scales == Scales::block ? (bm + 8) * 4 : 0;
  return static_cast<int>((bm + bn) * bk * w.element_bytes() + scales);
}

std::string unsupported(const Workload& w, const GpuLimits& limits) {
  if (limits.compute_capability < 80) {
    return fmt::format("needs compute capability 8.0 or higher; {} has {}.{}", limits.name,
                       limits.compute_capability / 10, limits.compute_capability % 10);
  }
  const int step = 16 / w.element_bytes();
  if (w.hidden % 16 != 0 || w.shard() % step != 0 || w.shard() % 8 != 0) {
    return fmt::format("needs hidden and the intermediate's shard in whole 16-byte pieces; hidden is {}, shard {}",
                       w.hidden, w.shard());
  }
  if (w.local_experts() > 1024) return fmt::format("sorts at most 1024 experts a rank; found {}", w.local_experts());
  if (w.block_shape && (w.block_shape->n < 64 || w.block_shape->n % 16 != 0 || w.block_shape->k % 64 != 0)) {
    return fmt::format("needs scale blocks of at least 64 rows in steps of 16 and K in steps of 64; found [{},{}]",
                       w.block_shape->n, w.block_shape->k);
  }
  return {};
}

std::vector<KernelSource> kernels(const Problem& problem, Step, const Config& config) {
  const Workload& w = problem.workload;
  return {{source_file, fmt::format("moetune::grouped_gemm<{}, {}, {}, {}, {}, {}, {}, {}>", operand_type(w.dtype),
                                    output_type(w.dtype), static_cast<int>(w.scales), config.at("BLOCK_SIZE_M"),
                                    config.at("BLOCK_SIZE_N"), config.at("BLOCK_SIZE_K"), config.at("num_warps"),
                                    config.at("num_stages"))}};
}

std::vector<int> dynamic_shared_bytes(const Problem& problem, Step, const Config& config) {
  const auto bm = config.at("BLOCK_SIZE_M"), bn = config.at("BLOCK_SIZE_N");
  const int ring = static_cast<int>(config.at("num_stages")) * stage_bytes(problem.workload, config);
  const int staged = static_cast<int>(bm * (bn + 8) * 2);
  const int split_k = static_cast<int>(config.at("num_warps")) * 32 * 16;
  return {static_cast<int>(bm) * 8 + std::max({ring, staged, split_k})};
}

LaunchStep bind(const Problem& problem, Step step, const Config& config, const std::vector<LoadedKernel>& kernels) {
  const Workload& w = problem.workload;
  const GemmShape shape = shape_of(w, step);
  const int block_m = static_cast<int>(config.at("BLOCK_SIZE_M"));
  const int block_n = static_cast<int>(config.at("BLOCK_SIZE_N"));
  GroupedGemmArgs args{};
  args.n = shape.n;
  args.k = shape.k;
  args.m_blocks = static_cast<int>(m_block_bound(w, problem.tokens, block_m));
  args.slots = problem.tokens * w.topk;
  args.slots_per_row = step == Step::gemm1 ? w.topk : 1;
  args.group_size_m = static_cast<int>(config.at("GROUP_SIZE_M"));
  args.block_n = w.block_shape ? w.block_shape->n : 0;
  args.block_k = w.block_shape ? w.block_shape->k : 0;
  LaunchShape launch_shape;
  launch_shape.grid_x = static_cast<unsigned>(args.m_blocks) * ((shape.n + block_n - 1) / block_n);
  launch_shape.block_x = static_cast<unsigned>(config.at("num_warps")) * 32;
  launch_shape.dynamic_shared_bytes = static_cast<unsigned>(dynamic_shared_bytes(problem, step, config)[0]);
  const bool naive = naive_sort(w, problem.tokens);
  const CUfunction function = kernels.at(0).function;
  return [=](const LayerCall& call, const Stream& stream) {
    const LayerTensors& t = call.tensors;
    GroupedGemmArgs a = args;
    const bool first = step == Step::gemm1;
    a.a = first ? t.a1 : t.a2;
    a.b = first ? call.weights.w1 : call.weights.w2;
    a.c = first ? t.gemm1_out : t.gemm2_out;
    a.a_scale = first ? t.a1_scale : t.a2_scale;
    a.b_scale = first ? call.weights.w1_scale : call.weights.w2_scale;
    a.topk_weights = first ? 0 : t.topk_weights;
    a.sorted_token_ids = naive ? 0 : t.sorted_token_ids;
    a.expert_ids = naive ? t.topk_ids : t.expert_ids;
    a.num_tokens_post_padded = t.num_tokens_post_padded;
    launch(function, launch_shape, stream, {&a});
  };
}

// Mean M blocks of one expert whose load is Poisson with mean `load` (binomial in truth; close enough to prune by).
double expected_blocks(double load, double block_m) {
  double blocks = 0, probability = std::exp(-load);
  const int last = static_cast<int>(load + 8 * std::sqrt(load) + 16);
  for (int n = 0; n <= last; ++n) {
    blocks += probability * std::ceil(n / block_m);
    probability *= load / (n + 1);
  }
  return load > 700 ? std::ceil(load / block_m) : blocks;
}

// As choose_warps of the kernel: how many warps lie along weight rows and along tokens, and split K.
struct WarpLayout {
  int n, m, k;
};
WarpLayout choose_warps(int block_m, int block_n, int warps) {
  WarpLayout best{0, 0, 0};
  int best_rows = 1 << 30;
  for (int m = 1; m <= warps; m *= 2) {
    const int n = warps / m;
    if (block_m / m < 8 || block_n / n < 16 || block_m / m + block_n / n >= best_rows) continue;
    best_rows = block_m / m + block_n / n;
    best = {n, m, 1};
  }
  if (best.n == 0) best = {block_n / 16, block_m / 8, warps / ((block_n / 16) * (block_m / 8))};
  return best;
}

// Issue slots of one warp in one step of K. The weights of the terms (and latency_us below) were fitted to the screens
// of Kimi K2 fp8 and Mixtral bf16 on an H200: mean error 24 % (docs/kernel-log.md). Good enough to prune and order by.
double issue_slots(const Problem& problem, const Config& config) {
  const Workload& w = problem.workload;
  const int capability = problem.limits.compute_capability;
  const bool fp8 = w.dtype == Dtype::fp8_w8a8;
  const bool converted = fp8 && capability != 89 && capability < 120;  // e4m3 multiplied as two fp16 halves
  const int warps = static_cast<int>(config.at("num_warps"));
  const int bm = static_cast<int>(config.at("BLOCK_SIZE_M")), bn = static_cast<int>(config.at("BLOCK_SIZE_N"));
  const WarpLayout layout = choose_warps(bm, bn, warps);
  const double rows = bn / layout.n / 16.0, tokens = bm / layout.m / 8.0;
  const double pieces = static_cast<double>(config.at("BLOCK_SIZE_K")) * w.element_bytes() / 32 / layout.k;
  const double per_fragment = converted ? 40 : 10.5, per_mma = converted ? 26 : 13;
  return 150 + pieces * (per_fragment * (rows + tokens / 2) + per_mma * rows * tokens);
}

// The slowest of: reading each active expert once at the memory's rate, issuing all work with its padding, and the
// CTAs' rounds when each only has its ring in flight.
double predicted_us(const Problem& problem, Step step, const Config& config) {
  const Workload& w = problem.workload;
  const GpuLimits& gpu = problem.limits;
  const GemmShape shape = shape_of(w, step);
  const double bm = static_cast<double>(config.at("BLOCK_SIZE_M")), bn = static_cast<double>(config.at("BLOCK_SIZE_N"));
  const double load = static_cast<double>(problem.tokens) * w.topk / w.experts;
  const double blocks = naive_sort(w, problem.tokens) ? static_cast<double>(problem.tokens) * w.topk
                                                      : w.local_experts() * expected_blocks(load, bm);
  const double expert_bytes = static_cast<double>(shape.n) * shape.k * w.element_bytes();
  const double bandwidth = gpu.memory_bandwidth > 0 ? gpu.memory_bandwidth : 1e12;
  const double active = w.local_experts() * (1 - std::exp(-load));
  const double memory_us = active * expert_bytes / bandwidth * 1e6;

  constexpr double issues_per_clock = 4, clock = 1.7e9, latency_us = 1.96;
  const double warps = static_cast<double>(config.at("num_warps"));
  const double ctas = blocks * std::ceil(shape.n / bn);
  const double steps = std::ceil(static_cast<double>(shape.k) / static_cast<double>(config.at("BLOCK_SIZE_K")));
  const double issue_us = std::max(1.0, ctas / gpu.sm_count) * steps * warps * issue_slots(problem, config) /
                          (issues_per_clock * clock) * 1e6;
  const double shared = dynamic_shared_bytes(problem, step, config)[0] + 1024.0;
  const double accumulators = bm * bn / (32 * warps) * (w.scales == Scales::block ? 2 : 1);
  const double by_registers = std::floor(gpu.registers_per_sm / (32 * warps * std::min(255.0, accumulators + 64)));
  const double per_sm = std::max(1.0, std::min(by_registers, std::floor(gpu.shared_memory_per_sm / shared)));
  const double rounds = std::max(1.0, ctas / (std::min<double>(gpu.sm_count, ctas) * per_sm));
  const double ring_us = rounds * (steps / (static_cast<double>(config.at("num_stages")) - 1) + 1) * latency_us;
  constexpr double launch_us = 2;
  return std::max({memory_us, issue_us, ring_us}) + launch_us;
}

}  // namespace

std::int64_t m_block_bound(const Workload& w, int tokens, std::int64_t block_m) {
  const std::int64_t slots = static_cast<std::int64_t>(tokens) * w.topk;
  if (naive_sort(w, tokens)) return slots;
  const std::int64_t padded = slots + static_cast<std::int64_t>(w.local_experts()) * (block_m - 1);
  return std::min(slots, (padded + block_m - 1) / block_m);
}

Family grouped_gemm_family() {
  Family f;
  f.name = "grouped_gemm";
  f.description = "portable grouped GEMM (mma.sync, cp.async ring), sm_80 to sm_120";
  f.space = "grouped_gemm";
  f.source = source_file;
  f.host = "src/kernels/grouped_gemm.cpp";
  f.steps = {Step::gemm1, Step::gemm2};
  f.unsupported = unsupported;
  f.kernels = kernels;
  f.dynamic_shared_bytes = dynamic_shared_bytes;
  f.bind = bind;
  f.predicted_us = predicted_us;
  f.accumulate = "fp32; with block scales promoted every BLOCK_SIZE_K of K";
  f.deterministic = true;
  return f;
}

}  // namespace moetune
