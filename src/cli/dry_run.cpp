#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/error.h"
#include "cli/commands.h"
#include "gpu/driver.h"
#include "results/journal.h"
#include "results/journal_files.h"
#include "results/winners.h"
#include "tune/candidates.h"
#include "tune/local_executor.h"

namespace moetune {

namespace {

struct DryDevice {
  GpuLimits limits;
  std::string origin;
};

DryDevice device_for(const TuneArguments& arguments, const Workload& w) {
  if (!arguments.arch.empty()) return {limits_of_arch(arguments.arch), "from --arch"};
  if (is_replay(arguments.device)) {
    return {gpu_limits_from_json(read_journal(find_journal(arguments.device.device, w)).header.at("device")),
            "recorded"};
  }
  if (!driver_state().devices.empty()) return {Device(ordinal_of(arguments.device)).limits(), "here"};
  // The GPU that the shipped results come from.
  GpuLimits limits = limits_of_arch("sm_90a");
  limits.name = "NVIDIA H200";
  limits.memory_bytes = 141ll * 1000 * 1000 * 1000;
  return {limits, "assumed, there is no GPU here"};
}

// The engine file's name needs neither hidden size nor top-k: whoever asks only for the name may leave them out.
std::vector<std::string> fill_in_for_the_name(WorkloadOptions& options) {
  std::vector<std::string> missing;
  if (!options.model.empty() || !options.experts || !options.intermediate) return missing;
  if (!options.hidden) missing.emplace_back("--hidden");
  if (!options.topk) missing.emplace_back("--topk");
  options.hidden = options.hidden.value_or(1024);
  options.topk = options.topk.value_or(1);
  return missing;
}

std::string describe(const Workload& w) {
  std::string text = fmt::format("{}: {} experts ({} on this rank), ", w.model, w.experts, w.local_experts());
  text += fmt::format("top-{}, hidden {}, intermediate {} ({} on this rank), {}", w.topk, w.hidden, w.intermediate,
                      w.shard(), name_of(w.dtype));
  if (w.scales != Scales::none) text += fmt::format(", {} scales", name_of(w.scales));
  if (w.block_shape) text += fmt::format(" [{},{}]", w.block_shape->n, w.block_shape->k);
  return text;
}

void warn(const std::string& text) { std::cout << "warning    " << text << '\n'; }

void print_outputs(const Workload& w, const DryDevice& device, const std::string& save_dir) {
  const auto in_folder = [&](const std::string& name) {
    return (std::filesystem::path(save_dir) / name).lexically_normal().string();
  };
  std::cout << "writes     " << in_folder(engine_file_name(w, device.limits.name)) << '\n'
            << "           " << in_folder(native_file_name(w)) << '\n'
            << "           " << in_folder("journals/" + journal_file_name(w)) << '\n';
}

void print_memory(const Workload& w, int most_tokens, const GpuLimits& limits) {
  const double need = static_cast<double>(device_bytes_needed(w, most_tokens, 1));
  const double have = static_cast<double>(limits.memory_bytes);
  std::cout << fmt::format("memory     {:.1f} GB of the GPU's {:.1f} GB, with {} tokens\n", need / 1e9, have / 1e9,
                           most_tokens);
  if (have > 0 && need > have) warn("tuning would refuse: the layer does not fit; use more ranks (--tp, --ep)");
}

// One row a token count, one column a reason to drop points.
void print_candidates(const Workload& w, const std::vector<int>& tokens, const GpuLimits& limits) {
  std::cout << fmt::format("space      grouped_gemm, {} points; left as candidates, and dropped:\n",
                           load_space("grouped_gemm").points());
  bool first = true;
  for (const int count : tokens) {
    const CandidateList list = list_candidates({w, count, limits}, {});
    if (first) {
      std::string head = fmt::format("{:>10} {:>10}", "tokens", "candidates");
      for (std::size_t i = 0; i < list.dropped.size(); ++i) {
        std::cout << fmt::format("             ({}) {}\n", i + 1, list.dropped[i].constraint);
        head += fmt::format(" {:>7}", fmt::format("({})", i + 1));
      }
      std::cout << head << '\n';
      first = false;
    }
    const auto of_space = std::count_if(list.candidates.begin(), list.candidates.end(),
                                        [](const Candidate& candidate) { return candidate.in_space; });
    std::cout << fmt::format("{:>10} {:>10}", count, of_space);
    for (const Dropped& dropped : list.dropped) std::cout << fmt::format(" {:>7}", dropped.count);
    std::cout << '\n';
  }
}

}  // namespace

ExitCode run_dry(const TuneArguments& arguments) {
  apply(arguments.device);
  routing_of(arguments.workload);  // refuses what tuning would
  WorkloadArguments asked = arguments.workload;
  std::string missing;
  for (const std::string& option : fill_in_for_the_name(asked.workload))
    missing += (missing.empty() ? "" : ", ") + option;
  const Workload w = workload_of(asked);
  const std::vector<int> tokens = tokens_of(asked);
  const DryDevice device = device_for(arguments, w);
  if (!missing.empty()) {
    std::cout << "engine     " << engine_file_name(w, device.limits.name) << '\n';
    warn("tuning would refuse: " + missing + " not given; the engine file's name does not depend on it");
    return ExitCode::ok;
  }
  std::cout << "workload   " << describe(w) << '\n'
            << fmt::format("device     {} ({}), {}\n", device.limits.name, device.limits.arch, device.origin);
  print_outputs(w, device, arguments.save_dir);
  if (!arguments.arch.empty()) warn("the files will carry the GPU's own name instead of " + device.limits.name);
  print_memory(w, *std::max_element(tokens.begin(), tokens.end()), device.limits);
  try {
    print_candidates(w, tokens, device.limits);
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    warn(std::string("tuning would refuse: ") + error.what());
  }
  return ExitCode::ok;
}

}  // namespace moetune
