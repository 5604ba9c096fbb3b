// Options and a model's facts become a workload.
#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "workload/config_fields.h"
#include "workload/model_config.h"
#include "workload/names.h"

namespace moetune {
namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(ExitCode::usage, message); }

[[noreturn]] void fail_missing(const ModelFacts& facts, const ConfigField& field) {
  const std::string option = std::string("--") + field.option;
  if (facts.origin.empty()) {
    fail("no " + option + ": without --model all of --experts, --topk, --hidden and --intermediate are needed");
  }
  fail(facts.origin + " does not give the MoE layer's " + field.option + ": looked for " + join(field.names, ", ") +
       " at the top and in text_config and the like; pass " + option);
}

// The option wins over the fact. A different size is noted in `name`.
int resolve_size(const ModelFacts& facts, const ConfigField& field, const std::optional<int>& option,
                 const std::optional<int>& fact, char letter, std::string* name) {
  if (!option && !fact) fail_missing(facts, field);
  if (option && option != fact) *name += std::string("-") + letter + std::to_string(*option);
  return option ? *option : *fact;
}

BlockShape parse_block_shape(const std::string& text) {
  std::string_view inner = text;
  if (inner.starts_with('[') && inner.ends_with(']')) inner = inner.substr(1, inner.size() - 2);
  const std::vector<std::string> parts = split(inner, ',');
  BlockShape shape;
  int* members[] = {&shape.n, &shape.k};
  bool good = parts.size() == 2;
  for (std::size_t i = 0; good && i < 2; ++i) {
    const std::string_view part =
        std::string_view(parts[i]).substr(std::min(parts[i].find_first_not_of(' '), parts[i].size()));
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), *members[i]);
    good = error == std::errc() && end == part.data() + part.size() && *members[i] > 0;
  }
  if (!good) fail("--block-shape '" + text + "' is not two sizes; give N,K, e.g. 128,128");
  return shape;
}

bool names_a_dtype(const WorkloadOptions& options) { return options.dtype && *options.dtype != "auto"; }

Dtype resolve_dtype(const WorkloadOptions& options, const ModelFacts& facts) {
  if (names_a_dtype(options)) return dtype_from_name(*options.dtype);
  if (!facts.unsupported.empty()) {
    fail(facts.name + ": the checkpoint's own dtype is " + facts.unsupported +
         ", which cannot be tuned; pass --dtype bf16 (or fp16, fp8_w8a8)");
  }
  // The engines run a checkpoint that names no dtype in bf16.
  return facts.dtype.value_or(Dtype::bf16);
}

void check_16_bit_scales(const WorkloadOptions& options, Dtype dtype) {
  const bool asks_scales = options.scales && scales_from_name(*options.scales) != Scales::none;
  if (!asks_scales && !options.block_shape) return;
  fail(std::string(options.block_shape ? "--block-shape" : "--scales") + " goes with fp8_w8a8 only, but the dtype is " +
       name_of(dtype) + (names_a_dtype(options) ? "" : " (the model's own)") + "; pass --dtype fp8_w8a8");
}

Scales resolve_fp8_scales(const WorkloadOptions& options, const ModelFacts& facts) {
  if (!options.scales) return options.block_shape ? Scales::block : facts.scales.value_or(Scales::tensor);
  const Scales scales = scales_from_name(*options.scales);
  if (scales == Scales::none) fail("--scales none does not go with fp8_w8a8; pass block, channel or tensor");
  if (scales != Scales::block && options.block_shape) {
    fail("--block-shape goes with --scales block, not with --scales " + *options.scales + "; leave one of them out");
  }
  return scales;
}

void resolve_scales(const WorkloadOptions& options, const ModelFacts& facts, Workload* w) {
  if (w->dtype != Dtype::fp8_w8a8) return check_16_bit_scales(options, w->dtype);
  w->scales = resolve_fp8_scales(options, facts);
  if (w->scales != Scales::block) return;
  w->block_shape =
      options.block_shape ? parse_block_shape(*options.block_shape) : facts.block_shape.value_or(BlockShape{128, 128});
}

void resolve_ranks(const WorkloadOptions& options, Workload* w) {
  w->tp = options.tp;
  if (!options.ep) return;
  w->ep = *options.ep == 0 ? options.tp : *options.ep;
  // "--ep 4" alone means four ranks, not four of one.
  if (options.tp == 1 && w->ep > 1) w->tp = w->ep;
}

}  // namespace

Workload make_workload(const WorkloadOptions& options) {
  ModelFacts facts;
  if (!options.model.empty()) facts = find_model(options.model);
  Workload w;
  w.model = facts.name.empty() ? "moe" : facts.name;
  w.experts = resolve_size(facts, experts_field(), options.experts, facts.experts, 'e', &w.model);
  w.topk = resolve_size(facts, topk_field(), options.topk, facts.topk, 'k', &w.model);
  w.hidden = resolve_size(facts, hidden_field(), options.hidden, facts.hidden, 'h', &w.model);
  w.intermediate = resolve_size(facts, intermediate_field(), options.intermediate, facts.intermediate, 'i', &w.model);
  w.dtype = resolve_dtype(options, facts);
  resolve_scales(options, facts, &w);
  resolve_ranks(options, &w);
  check_workload(w);
  return w;
}

}  // namespace moetune
