#include "workload/model_config.h"

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/temp_folder.h"
#include "workload/expect_error.h"

namespace moetune {
namespace {

ModelFacts facts_of(const char* text) { return facts_of_config(Json::parse(text), "m", "m/config.json"); }

void expect_sizes(const ModelFacts& facts, int experts, int topk, int hidden, int intermediate) {
  EXPECT_EQ(facts.experts, experts) << facts.architecture;
  EXPECT_EQ(facts.topk, topk) << facts.architecture;
  EXPECT_EQ(facts.hidden, hidden) << facts.architecture;
  EXPECT_EQ(facts.intermediate, intermediate) << facts.architecture;
}

std::string compressed(const std::string& weights, const std::string& activations = R"({"num_bits":8})") {
  return R"({"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":)" +
         weights + R"(,"input_activations":)" + activations + "}}}}";
}

// A usual model in a folder of its own, with `more` members.
std::string write_config(const TempFolder& folder, const std::string& name, const std::string& more) {
  const std::string text = R"({"num_local_experts":8,"num_experts_per_tok":2,"hidden_size":256,)"
                           R"("intermediate_size":512)" +
                           more + "}";
  write_file_atomically(folder.path() / name / "config.json", text);
  return (folder.path() / name).string();
}

}  // namespace

TEST(Presets, AreSortedAndWhole) {
  const std::vector<ModelFacts> presets = model_presets();
  EXPECT_TRUE(std::is_sorted(presets.begin(), presets.end(), [](auto& a, auto& b) { return a.name < b.name; }));
  for (const ModelFacts& preset : presets) {
    EXPECT_TRUE(preset.experts && preset.topk && preset.hidden && preset.intermediate) << preset.name;
    EXPECT_NE(preset.dtype.has_value(), !preset.unsupported.empty()) << preset.name;
    EXPECT_EQ(preset.dtype == Dtype::fp8_w8a8, preset.scales.has_value()) << preset.name;
    EXPECT_EQ(preset.origin, "preset");
    WorkloadOptions options;
    options.model = preset.name;
    options.dtype = "bf16";
    EXPECT_NO_THROW(make_workload(options)) << preset.name;
  }
}

TEST(Presets, SizesOfTheKnownOnes) {
  expect_sizes(find_model("kimi-k2"), 384, 8, 7168, 2048);
  expect_sizes(find_model("deepseek-v3"), 256, 8, 7168, 2048);
  expect_sizes(find_model("mixtral-8x7b"), 8, 2, 4096, 14336);
  expect_sizes(find_model("qwen3-235b-a22b"), 128, 8, 4096, 1536);
  expect_sizes(find_model("qwen3-30b-a3b"), 128, 8, 2048, 768);
  expect_sizes(find_model("gpt-oss-120b"), 128, 4, 2880, 2880);
  expect_sizes(find_model("glm-4.5"), 160, 8, 5120, 1536);
  EXPECT_EQ(find_model("kimi-k2").block_shape, (BlockShape{128, 128}));
  EXPECT_EQ(find_model("moonshotai/Kimi-K2-Instruct").name, "kimi-k2");
}

TEST(Presets, AnUnknownModelNamesTheNearest) {
  expect_parts(usage_error([] { find_model("kimi-k3"); }), {"unknown model 'kimi-k3'", "kimi-k2", "config.json"});
  expect_parts(usage_error([] { find_model("someone/mixtral-8x7"); }),
               {"someone/mixtral-8x7", "nearest: mixtral-8x7b"});
}

TEST(Presets, ComeFromTheDataFolderWhenOneIsSet) {
  const TempFolder folder;
  const auto file = folder.path() / "src" / "workload" / "models.json";
  setenv("MOETUNE_DATA_DIR", folder.path().c_str(), 1);
  write_file_atomically(file, R"([{"name":"mine","checkpoint":"a/b","architecture":"C","experts":4,"topk":2,"hidden":64,
      "intermediate":32,"dtype":"fp16"}])");
  const std::vector<ModelFacts> presets = model_presets();
  write_file_atomically(file, R"([{"name":"mine","checkpoint":"a/b","architecture":"C"}])");
  const std::string lacks_field = usage_error([] { model_presets(); });
  write_file_atomically(file, "[{");
  const std::string malformed = usage_error([] { model_presets(); });
  unsetenv("MOETUNE_DATA_DIR");

  ASSERT_EQ(presets.size(), 1u);
  EXPECT_EQ(presets[0].name, "mine");
  EXPECT_EQ(presets[0].dtype, Dtype::fp16);
  expect_parts(lacks_field, {"models.json", "preset 0", "experts"});
  expect_parts(malformed, {"models.json", "no valid JSON"});
}

TEST(Config, DeepseekV3WithBlockScales) {
  const ModelFacts facts = facts_of(R"({"architectures":["DeepseekV3ForCausalLM"],"n_routed_experts":384,
    "num_experts_per_tok":8,"moe_intermediate_size":2048,"intermediate_size":18432,"hidden_size":7168,
    "torch_dtype":"bfloat16","quantization_config":{"quant_method":"fp8","fmt":"e4m3","weight_block_size":[128,64]}})");
  expect_sizes(facts, 384, 8, 7168, 2048);
  EXPECT_EQ(facts.architecture, "DeepseekV3ForCausalLM");
  EXPECT_EQ(facts.dtype, Dtype::fp8_w8a8);
  EXPECT_EQ(facts.scales, Scales::block);
  EXPECT_EQ(facts.block_shape, (BlockShape{128, 64}));
}

TEST(Config, FieldSpellings) {
  expect_sizes(facts_of(R"({"architectures":["MixtralForCausalLM"],"num_local_experts":8,"num_experts_per_tok":2,
    "intermediate_size":14336,"hidden_size":4096})"),
               8, 2, 4096, 14336);
  expect_sizes(facts_of(R"({"architectures":["DbrxForCausalLM"],"d_model":6144,"ffn_config":{"moe_num_experts":16,
    "moe_top_k":4,"ffn_hidden_size":10752}})"),
               16, 4, 6144, 10752);
  expect_sizes(facts_of(R"({"architectures":["HunYuanMoEV1ForCausalLM"],"num_experts":64,"moe_topk":[8,8],
    "moe_intermediate_size":[3072,3072],"intermediate_size":3072,"hidden_size":4096})"),
               64, 8, 4096, 3072);
  expect_sizes(facts_of(R"({"architectures":["KimiK3ForConditionalGeneration"],"text_config":{"num_experts":512,
    "num_experts_per_token":16,"moe_intermediate_size":1024,"hidden_size":7168}})"),
               512, 16, 7168, 1024);
  expect_sizes(facts_of(R"({"architectures":["Gemma4ForConditionalGeneration"],"text_config":{"num_experts":128,
    "top_k_experts":8,"moe_intermediate_size":704,"intermediate_size":2112,"hidden_size":2816}})"),
               128, 8, 2816, 704);
  expect_sizes(facts_of(R"({"num_experts":8,"num_experts_per_tok":2,"moe_intermediate_size":512,"hidden_size":4096,
    "moe_latent_size":1024})"),
               8, 2, 1024, 512);
}

TEST(Config, TheTextModelWinsOverTheRest) {
  expect_sizes(
      facts_of(R"({"architectures":["Qwen3VLMoeForConditionalGeneration"],"hidden_size":1,"intermediate_size":2,
    "text_config":{"num_experts":128,"num_experts_per_tok":8,"moe_intermediate_size":768,"hidden_size":2048},
    "vision_config":{"hidden_size":1152,"intermediate_size":4304}})"),
      128, 8, 2048, 768);
  expect_sizes(facts_of(R"({"architectures":["Qwen3OmniMoeForConditionalGeneration"],"thinker_config":{"text_config":
    {"num_experts":128,"num_experts_per_tok":8,"moe_intermediate_size":768,"hidden_size":2048},
    "audio_config":{"d_model":1280}},"talker_config":{"text_config":{"num_experts":64}}})"),
               128, 8, 2048, 768);
}

TEST(Config, KimiK25KeepsAllInTheTextConfig) {
  const ModelFacts facts = facts_of(R"({"architectures":["KimiK25ForConditionalGeneration"],"dtype":"bfloat16",
    "text_config":{"n_routed_experts":384,"num_experts_per_tok":8,"moe_intermediate_size":2048,"hidden_size":7168,
    "quantization_config":{"quant_method":"compressed-tensors","config_groups":{"group_0":{"input_activations":null,
    "weights":{"num_bits":4,"type":"int","strategy":"group","group_size":32}}}}}})");
  expect_sizes(facts, 384, 8, 7168, 2048);
  EXPECT_FALSE(facts.dtype);
  EXPECT_EQ(facts.unsupported, "int4 (compressed-tensors)");
}

TEST(Config, AnUnknownArchitectureIsProbed) {
  const ModelFacts facts = facts_of(R"({"architectures":["NewMoeForX"],"text_config":{"num_experts":64,
    "num_experts_per_tok":6,"moe_intermediate_size":128,"hidden_size":256}})");
  expect_sizes(facts, 64, 6, 256, 128);
  EXPECT_FALSE(facts.dtype);
  EXPECT_TRUE(facts.unsupported.empty());
  expect_sizes(facts_of(R"({"architectures":null,"num_experts":4,"num_experts_per_tok":1,"intermediate_size":128,
    "hidden_size":256,"text_config":null})"),
               4, 1, 256, 128);
}

TEST(Config, ValuesOfAWrongKindAreNotFound) {
  const ModelFacts facts = facts_of(R"({"num_experts":"64","num_experts_per_tok":null,"moe_topk":[],"hidden_size":-1,
    "moe_intermediate_size":1.5})");
  EXPECT_FALSE(facts.experts || facts.topk || facts.hidden || facts.intermediate);
}

TEST(Config, Dtypes) {
  EXPECT_EQ(facts_of(R"({"torch_dtype":"bfloat16"})").dtype, Dtype::bf16);
  EXPECT_EQ(facts_of(R"({"dtype":"torch.float16"})").dtype, Dtype::fp16);
  EXPECT_EQ(facts_of(R"({"text_config":{"dtype":"float16"},"dtype":"bfloat16"})").dtype, Dtype::fp16);
  EXPECT_EQ(facts_of(R"({"torch_dtype":"float32"})").unsupported, "float32");
  EXPECT_EQ(facts_of(R"({"torch_dtype":"bfloat16","quantization_config":null})").dtype, Dtype::bf16);
}

TEST(Config, QuantisationMethods) {
  const auto scales_of = [](const std::string& text) { return facts_of(text.c_str()).scales; };
  EXPECT_EQ(scales_of(R"({"quantization_config":{"quant_method":"fp8","activation_scheme":"static"}})"),
            Scales::tensor);
  EXPECT_EQ(scales_of(R"({"quantization_config":{"quant_method":"fp8","weight_block_size":null}})"), Scales::tensor);
  EXPECT_EQ(scales_of(R"({"quantization_config":{"quant_method":"fbgemm_fp8"}})"), Scales::channel);
  EXPECT_EQ(scales_of(R"({"quantization_config":{"quant_method":"modelopt","quant_algo":"FP8"}})"), Scales::tensor);
  EXPECT_EQ(scales_of(compressed(R"({"type":"float","num_bits":8,"strategy":"channel"})")), Scales::channel);
  EXPECT_EQ(scales_of(compressed(R"({"type":"float","num_bits":8,"strategy":"tensor"})")), Scales::tensor);
  const ModelFacts block =
      facts_of(compressed(R"({"type":"float","num_bits":8,"strategy":"block","block_structure":[128,128]})").c_str());
  EXPECT_EQ(block.scales, Scales::block);
  EXPECT_EQ(block.block_shape, (BlockShape{128, 128}));

  const auto why = [](const std::string& text) { return facts_of(text.c_str()).unsupported; };
  EXPECT_EQ(why(R"({"quantization_config":{"quant_method":"mxfp4"}})"), "mxfp4");
  EXPECT_EQ(why(R"({"quantization_config":{"quant_method":"awq","bits":4}})"), "int4 (awq)");
  EXPECT_EQ(why(R"({"quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4"}})"), "modelopt");
  EXPECT_EQ(why(compressed(R"({"type":"float","num_bits":8,"strategy":"channel"})", "null")),
            "fp8_w8a16 (compressed-tensors)");
  EXPECT_EQ(why(compressed(R"({"type":"float","num_bits":8,"strategy":"group"})")),
            "fp8 with group scales (compressed-tensors)");
}

TEST(ConfigFile, IsFoundByFileOrFolder) {
  const TempFolder folder;
  const std::string path = write_config(folder, "My Model", R"(,"torch_dtype":"float16")");
  for (const std::string& model : {path, path + "/", path + "/config.json"}) {
    const ModelFacts facts = find_model(model);
    expect_sizes(facts, 8, 2, 256, 512);
    EXPECT_EQ(facts.name, "My-Model");
    EXPECT_EQ(facts.origin, std::filesystem::path(path) / "config.json");
  }
  std::filesystem::copy(path + "/config.json", folder.path() / "tiny.json");
  EXPECT_EQ(find_model((folder.path() / "tiny.json").string()).name, "tiny");
}

TEST(ConfigFile, AModelCacheGivesTheModelsName) {
  const TempFolder folder;
  EXPECT_EQ(find_model(write_config(folder, "models--org--Some-MoE/snapshots/0a1b2c", "")).name, "Some-MoE");
}

TEST(ConfigFile, ErrorsNameThePath) {
  const TempFolder folder;
  const std::string path = folder.path().string();
  expect_parts(usage_error([&] { find_model(path); }), {path, "holds no config.json"});
  write_file_atomically(folder.path() / "config.json", "{\"num_experts\": 8,\n  oops}");
  expect_parts(usage_error([&] { find_model(path); }), {path + "/config.json", "no valid JSON"});
  write_file_atomically(folder.path() / "config.json", "[8]");
  expect_parts(usage_error([&] { find_model(path); }), {path + "/config.json", "no JSON object"});
}

TEST(ConfigFile, MissingFieldsAreNamedUnlessAnOptionGivesThem) {
  const TempFolder folder;
  write_file_atomically(folder.path() / "dense" / "config.json", R"({"hidden_size":256,"intermediate_size":512})");
  WorkloadOptions options;
  options.model = (folder.path() / "dense").string();
  expect_parts(usage_error([&] { make_workload(options); }),
               {options.model, "experts", "n_routed_experts, num_experts, num_local_experts", "pass --experts"});
  options.experts = 8;
  expect_parts(usage_error([&] { make_workload(options); }), {"num_experts_per_tok", "top_k_experts", "pass --topk"});
  options.topk = 2;
  const Workload w = make_workload(options);
  EXPECT_EQ(w.experts, 8);
  EXPECT_EQ(w.intermediate, 512);
  EXPECT_EQ(w.dtype, Dtype::bf16);
  EXPECT_EQ(w.model, "dense-e8-k2");
}

}  // namespace moetune
