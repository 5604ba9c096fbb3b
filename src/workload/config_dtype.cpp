// The numeric format of a checkpoint, from torch_dtype and quantization_config.
#include <algorithm>

#include "base/text.h"
#include "workload/config_fields.h"

namespace moetune {
namespace {

CheckpointDtype unsupported(const std::string& why) {
  CheckpointDtype found;
  found.unsupported = why;
  return found;
}

CheckpointDtype fp8(Scales scales, std::optional<BlockShape> block_shape = std::nullopt) {
  return {Dtype::fp8_w8a8, scales, block_shape, ""};
}

std::string string_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

int int_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<int>() : 0;
}

const Json* object_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? &*found : nullptr;
}

// [n, k], or nothing for null, a missing member or another shape.
std::optional<BlockShape> block_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array() || found->size() != 2) return std::nullopt;
  if (!found->at(0).is_number_integer() || !found->at(1).is_number_integer()) return std::nullopt;
  return BlockShape{found->at(0).get<int>(), found->at(1).get<int>()};
}

CheckpointDtype of_plain_name(std::string name) {
  constexpr std::string_view kPrefix = "torch.";
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  CheckpointDtype found;
  if (name == "bfloat16") {
    found.dtype = Dtype::bf16;
  } else if (name == "float16") {
    found.dtype = Dtype::fp16;
  } else if (!name.empty() && name != "auto") {
    found.unsupported = name;
  }
  return found;
}

CheckpointDtype of_compressed_group(const Json& group) {
  const Json* weights = object_at(group, "weights");
  if (weights == nullptr) return unsupported("compressed-tensors without a weights entry");
  const std::string type = string_at(*weights, "type");
  const int bits = int_at(*weights, "num_bits");
  if (type != "float" || bits != 8) return unsupported(type + std::to_string(bits) + " (compressed-tensors)");
  if (object_at(group, "input_activations") == nullptr) return unsupported("fp8_w8a16 (compressed-tensors)");
  const std::string strategy = string_at(*weights, "strategy");
  if (strategy == "tensor") return fp8(Scales::tensor);
  if (strategy == "channel") return fp8(Scales::channel);
  const auto block = block_at(*weights, "block_structure");
  if (strategy == "block" && block) return fp8(Scales::block, block);
  return unsupported("fp8 with " + (strategy.empty() ? "no" : strategy) + " scales (compressed-tensors)");
}

bool same(const CheckpointDtype& a, const CheckpointDtype& b) {
  return a.dtype == b.dtype && a.scales == b.scales && a.block_shape == b.block_shape && a.unsupported == b.unsupported;
}

CheckpointDtype of_compressed_tensors(const Json& quantization) {
  const Json* groups = object_at(quantization, "config_groups");
  if (groups == nullptr || groups->empty()) return unsupported("compressed-tensors without config_groups");
  std::vector<CheckpointDtype> found;
  for (const Json& group : *groups) {
    found.push_back(group.is_object() ? of_compressed_group(group) : unsupported("compressed-tensors"));
  }
  const bool alike = std::all_of(found.begin(), found.end(), [&](const auto& one) { return same(one, found.front()); });
  return alike ? found.front() : unsupported("a mix of formats (compressed-tensors)");
}

CheckpointDtype of_quantization(const Json& quantization) {
  const std::string method = string_at(quantization, "quant_method");
  if (method == "fp8") {
    const auto block = block_at(quantization, "weight_block_size");
    return block ? fp8(Scales::block, block) : fp8(Scales::tensor);
  }
  if (method == "fbgemm_fp8") return fp8(Scales::channel);
  if (method == "compressed-tensors") return of_compressed_tensors(quantization);
  if (method == "modelopt" && string_at(quantization, "quant_algo") == "FP8") return fp8(Scales::tensor);
  for (const char* key : {"bits", "w_bit", "num_bits"}) {
    if (const int bits = int_at(quantization, key))
      return unsupported("int" + std::to_string(bits) + " (" + method + ")");
  }
  return unsupported(method.empty() ? "an unnamed quantisation" : method);
}

}  // namespace

CheckpointDtype find_dtype(const std::vector<const Json*>& scopes) {
  for (const Json* scope : scopes) {
    for (const char* key : {"quantization_config", "compression_config"}) {
      if (const Json* quantization = object_at(*scope, key)) return of_quantization(*quantization);
    }
  }
  for (const Json* scope : scopes) {
    for (const char* key : {"dtype", "torch_dtype"}) {
      const std::string name = string_at(*scope, key);
      if (!name.empty()) return of_plain_name(name);
    }
  }
  return {};
}

}  // namespace moetune
