// A workload: what one rank runs of one model's MoE layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace moetune {

enum class Dtype { bf16, fp16, fp8_w8a8 };

// How fp8 operands are scaled. `block`: weights per [n,k] block, activations per token and k block (dynamic).
// `channel`: weights per output channel, activations per token (dynamic). `tensor`: weights per expert, activations
// one static scale.
enum class Scales { none, tensor, channel, block };

struct BlockShape {
  int n = 0;
  int k = 0;
  bool operator==(const BlockShape&) const = default;
};

struct Workload {
  std::string model;  // preset name, or the folder name of a config.json; part of the native file's name
  int experts = 0;    // routed experts of the layer, over all ranks
  int topk = 0;
  int hidden = 0;
  int intermediate = 0;  // of one expert, over all ranks
  int tp = 1;            // ranks of the layer in all
  int ep = 1;            // ranks that the experts are spread over; the intermediate is split by tp/ep
  Dtype dtype = Dtype::bf16;
  Scales scales = Scales::none;
  std::optional<BlockShape> block_shape;  // set exactly when scales == block

  int local_experts() const { return experts / ep; }      // E in the engine's file name
  int shard() const { return intermediate / (tp / ep); }  // N in the engine's file name
  int element_bytes() const { return dtype == Dtype::fp8_w8a8 ? 1 : 2; }
  bool operator==(const Workload&) const = default;
};

// Sizes of one rank's weights, bytes, with fp32 scales.
std::int64_t w1_bytes_per_expert(const Workload& w);  // [2*shard, hidden]
std::int64_t w2_bytes_per_expert(const Workload& w);  // [hidden, shard]

// Throws Error(usage) saying why, when a split is not whole or a block does not fit: experts % ep, tp % ep,
// intermediate % (tp/ep), block scales with a shard that is no multiple of block n or k, sizes below 1, topk > experts.
void check_workload(const Workload& w);

// "kimi-k2-fp8_w8a8-tp4", "kimi-k2-fp8_w8a8-ep4" (tp == ep), "...-tp8-ep4" otherwise; scale modes other than the
// dtype's usual add "-channel" or "-tensor".
std::string workload_slug(const Workload& w);

Json to_json(const Workload& w);
Workload workload_from_json(const Json& json);

const char* name_of(Dtype dtype);                // "bf16", "fp16", "fp8_w8a8"
const char* name_of(Scales scales);              // "none", "tensor", "channel", "block"
Dtype dtype_from_name(const std::string& name);  // Error(usage) with the nearest valid names
Scales scales_from_name(const std::string& name);

// The 18 token counts that the engines' tuners use.
const std::vector<int>& default_token_counts();

// "1,2,4" or "1-16" or a mix; ascending, distinct, each >= 1. Error(usage) otherwise.
std::vector<int> parse_token_counts(const std::string& text);

}  // namespace moetune
