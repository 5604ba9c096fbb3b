#include "cli/options.h"

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "jit/cache.h"
#include "jit/embedded.h"
#include "jit/nvrtc.h"

namespace moetune {

void add_workload_options(CLI::App& app, WorkloadArguments& a) {
  WorkloadOptions& w = a.workload;
  std::vector<CLI::Option*> options = {
      app.add_option("--model", w.model, "Preset (moetune list models), a config.json, or a folder that holds one")
          ->type_name("NAME|PATH"),
      app.add_option("--dtype", w.dtype, "bf16, fp16, fp8_w8a8 or auto; default auto: the checkpoint's own")
          ->type_name("NAME"),
      app.add_option("--tp", w.tp, "Ranks that share the layer; default 1")->type_name("N"),
      app.add_option("--ep", w.ep,
                     "Ranks that the experts are spread over; without a number or 0: --tp; default: not spread")
          ->type_name("[N]")
          ->expected(0, 1)
          ->default_str("0"),
      app.add_option("--experts", w.experts, "Routed experts over all ranks; default: the model's")->type_name("N"),
      app.add_option("--topk", w.topk, "Experts of a token; default: the model's")->type_name("N"),
      app.add_option("--hidden", w.hidden, "Hidden size, elements; default: the model's")->type_name("N"),
      app.add_option("--intermediate", w.intermediate,
                     "Intermediate size of one expert over all ranks, elements; default: the model's")
          ->type_name("N"),
      app.add_option("--block-shape", w.block_shape,
                     "fp8 weights' scale block N,K, elements; default: the model's or 128,128")
          ->type_name("N,K"),
      app.add_option("--scales", w.scales, "fp8 scales: block, channel or tensor; default: the model's or tensor")
          ->type_name("NAME"),
      app.add_option("--tokens", a.tokens,
                     "Tokens in one call on this rank, e.g. 1,2,4 or 1-16; default: the engines' 18 counts, 1 to 4096")
          ->type_name("LIST"),
      app.add_option("--routing", a.routing, "How tokens go to experts: uniform or zipf; default uniform")
          ->type_name("NAME"),
      app.add_option("--skew", a.skew, "Exponent of zipf routing; default 1.0")
          ->type_name("X")
          ->check(CLI::Range(0.0, 10.0).description("")),
      app.add_option("--seed", a.seed, "Seed of routings, data and measuring order; default 0")->type_name("N"),
  };
  for (CLI::Option* option : options) option->group("Workload");
}

void add_device_options(CLI::App& app, DeviceArguments& a) {
  std::vector<CLI::Option*> options = {
      app.add_option("--device", a.device,
                     "GPU number (after CUDA_VISIBLE_DEVICES), or replay:NAME|PATH for a recorded GPU; default 0")
          ->type_name("N|replay:NAME"),
      app.add_option("--nvrtc", a.nvrtc, "libnvrtc, a file or its folder; default: searched (moetune doctor)")
          ->type_name("PATH"),
      app.add_option("--cache-dir", a.cache_dir, "Folder of compiled kernels; default $XDG_CACHE_HOME/moetune")
          ->type_name("DIR"),
      app.add_option("--compile-workers", a.compile_workers, "Compile processes; default 0: all cores but one")
          ->type_name("N")
          ->check(CLI::Range(0, 1024).description("")),
      app.add_option(
             "--data-dir", a.data_dir,
             "Folder laid out like the repository, whose kernels/, search_spaces/ and src/ replace the built-in files; "
             "default: none")
          ->type_name("DIR"),
  };
  for (CLI::Option* option : options) option->group("Device");
}

Workload workload_of(const WorkloadArguments& a) {
  const WorkloadOptions& w = a.workload;
  if (w.model.empty() && !(w.experts && w.topk && w.hidden && w.intermediate)) {
    throw Error(
        ExitCode::usage,
        "no workload: give --model NAME (moetune list models), or --experts, --topk, --hidden and --intermediate");
  }
  return make_workload(w);
}

RoutingSpec routing_of(const WorkloadArguments& a) {
  if (!(a.skew >= 0 && a.skew <= 10)) throw Error(ExitCode::usage, "--skew must be a number from 0 to 10");
  if (a.routing == "uniform") return {RoutingKind::uniform, a.skew};
  if (a.routing == "zipf") return {RoutingKind::zipf, a.skew};
  throw Error(ExitCode::usage, "unknown routing '" + a.routing + "'; known are uniform, zipf");
}

std::vector<int> tokens_of(const WorkloadArguments& a) {
  return a.tokens.empty() ? default_token_counts() : parse_token_counts(a.tokens);
}

void apply(const DeviceArguments& a) {
  if (!a.nvrtc.empty()) set_nvrtc_path(a.nvrtc);
  if (!a.cache_dir.empty()) set_cache_folder(a.cache_dir);
  if (!a.data_dir.empty()) set_data_folder(a.data_dir);
}

void check_writable(const std::filesystem::path& folder, const char* option) {
  const std::filesystem::path probe = folder / ".moetune-write-test";
  try {
    write_file_atomically(probe, "");
  } catch (const Error& error) {
    throw Error(ExitCode::usage,
                std::string("cannot write to ") + option + " " + folder.string() + ": " + error.what());
  }
  std::error_code ignored;
  std::filesystem::remove(probe, ignored);
}

bool is_replay(const DeviceArguments& a) { return a.device.rfind("replay", 0) == 0; }

int ordinal_of(const DeviceArguments& a) {
  if (a.device.empty() || a.device.find_first_not_of("0123456789") != std::string::npos || a.device.size() > 4) {
    throw Error(ExitCode::usage, "--device '" + a.device + "' is neither a GPU number nor replay:NAME");
  }
  return std::stoi(a.device);
}

}  // namespace moetune
