#include "base/files.h"
#include "base/temp_folder.h"
#include "workload/expect_error.h"
#include "workload/model_config.h"

namespace moetune {
namespace {

WorkloadOptions preset(const std::string& model, int tp = 1) {
  WorkloadOptions options;
  options.model = model;
  options.tp = tp;
  return options;
}

std::string error_of(const WorkloadOptions& options) {
  return usage_error([&] { make_workload(options); });
}

}  // namespace

TEST(MakeWorkload, TheMainJob) {
  WorkloadOptions options = preset("kimi-k2", 4);
  const Workload expected = {"kimi-k2", 384, 8, 7168, 2048, 4, 1, Dtype::fp8_w8a8, Scales::block, BlockShape{128, 128}};
  EXPECT_EQ(make_workload(options), expected);
  options.dtype = "auto";
  EXPECT_EQ(make_workload(options), expected);
  options.dtype = "fp8_w8a8";
  EXPECT_EQ(make_workload(options), expected);
}

TEST(MakeWorkload, EpWithoutAValueIsTp) {
  WorkloadOptions options = preset("kimi-k2", 8);
  options.ep = 0;
  const Workload w = make_workload(options);
  EXPECT_EQ(w.ep, 8);
  EXPECT_EQ(w.local_experts(), 48);
  EXPECT_EQ(w.shard(), 2048);
}

TEST(MakeWorkload, EpAloneSetsTp) {
  WorkloadOptions options = preset("kimi-k2");
  options.ep = 4;
  const Workload w = make_workload(options);
  EXPECT_EQ(w.tp, 4);
  EXPECT_EQ(w.local_experts(), 96);
  EXPECT_EQ(w.shard(), 2048);
  EXPECT_EQ(workload_slug(w), "kimi-k2-fp8_w8a8-ep4");
}

TEST(MakeWorkload, EpErrors) {
  WorkloadOptions options = preset("kimi-k2", 4);
  options.ep = 8;
  expect_parts(error_of(options), {"--ep 8 is more than --tp 4"});
  options.ep = -2;
  expect_parts(error_of(options), {"--ep must be at least 1", "-2"});
  options = preset("kimi-k2", 8);
  options.experts = 60;
  options.ep = 0;
  expect_parts(error_of(options), {"60 experts do not divide over 8 ranks"});
}

TEST(MakeWorkload, AskingFor16BitsDropsTheScales) {
  WorkloadOptions options = preset("kimi-k2", 32);
  options.dtype = "bf16";
  const Workload w = make_workload(options);
  EXPECT_EQ(w.scales, Scales::none);
  EXPECT_FALSE(w.block_shape);
  EXPECT_EQ(w.shard(), 64);
}

TEST(MakeWorkload, Fp8OfA16BitCheckpoint) {
  WorkloadOptions options = preset("mixtral-8x7b", 2);
  EXPECT_EQ(make_workload(options).dtype, Dtype::bf16);
  options.dtype = "fp8_w8a8";
  EXPECT_EQ(make_workload(options).scales, Scales::tensor);
  options.scales = "channel";
  EXPECT_EQ(make_workload(options).scales, Scales::channel);
  options.scales = "block";
  EXPECT_EQ(make_workload(options).block_shape, (BlockShape{128, 128}));
  options.scales.reset();
  options.block_shape = "[64, 128]";
  EXPECT_EQ(make_workload(options).scales, Scales::block);
  EXPECT_EQ(make_workload(options).block_shape, (BlockShape{64, 128}));
}

TEST(MakeWorkload, ScalesThatDoNotFitTheDtype) {
  WorkloadOptions options = preset("mixtral-8x7b", 2);
  options.block_shape = "128,128";
  expect_parts(error_of(options), {"--block-shape", "bf16 (the model's own)", "pass --dtype fp8_w8a8"});
  options.block_shape.reset();
  options.scales = "tensor";
  expect_parts(error_of(options), {"--scales", "fp8_w8a8"});
  options.scales = "none";
  EXPECT_NO_THROW(make_workload(options));
  options.dtype = "fp8_w8a8";
  expect_parts(error_of(options), {"--scales none"});
  options.scales = "channel";
  options.block_shape = "128,128";
  expect_parts(error_of(options), {"--block-shape", "--scales channel"});
  options.scales = "blok";
  expect_parts(error_of(options), {"unknown scales 'blok'", "block"});
}

TEST(MakeWorkload, BadBlockShapes) {
  WorkloadOptions options = preset("kimi-k2", 4);
  for (const char* text : {"", "128", "128,", "128,128,128", "a,b", "0,128", "[128,128", "-1,128"}) {
    options.block_shape = text;
    expect_parts(error_of(options), {"--block-shape '" + std::string(text) + "'", "128,128"});
  }
}

TEST(MakeWorkload, UnknownDtype) {
  WorkloadOptions options = preset("kimi-k2", 4);
  options.dtype = "fp8_w8a";
  expect_parts(error_of(options), {"unknown dtype 'fp8_w8a'; known are fp8_w8a8, "});
}

TEST(MakeWorkload, AFormatThatCannotBeTunedNeedsADtype) {
  WorkloadOptions options = preset("gpt-oss-120b");
  expect_parts(error_of(options), {"gpt-oss-120b", "mxfp4", "pass --dtype bf16"});
  options.dtype = "bf16";
  EXPECT_EQ(make_workload(options).dtype, Dtype::bf16);
}

TEST(MakeWorkload, ATpThatSplitsABlockNamesThoseThatWork) {
  expect_parts(error_of(preset("kimi-k2", 32)), {"shard of 64", "--tp values that work: 1, 2, 4, 8, 16"});
}

TEST(MakeWorkload, OptionsWinOverTheModelAndShowInItsName) {
  WorkloadOptions options = preset("kimi-k2", 4);
  options.experts = 256;
  options.topk = 8;
  const Workload w = make_workload(options);
  EXPECT_EQ(w.experts, 256);
  EXPECT_EQ(workload_slug(w), "kimi-k2-e256-fp8_w8a8-tp4");
}

TEST(MakeWorkload, SizesWithoutAModel) {
  WorkloadOptions options;
  options.experts = 128;
  options.topk = 8;
  options.intermediate = 1536;
  options.tp = 8;
  options.ep = 0;
  expect_parts(error_of(options), {"no --hidden", "--experts, --topk, --hidden and --intermediate"});
  options.hidden = 4096;
  options.dtype = "fp8_w8a8";
  options.block_shape = "128,128";
  const Workload w = make_workload(options);
  EXPECT_EQ(w.local_experts(), 16);
  EXPECT_EQ(w.shard(), 1536);
  EXPECT_EQ(workload_slug(w), "moe-e128-k8-h4096-i1536-fp8_w8a8-ep8");
}

TEST(MakeWorkload, AConfigFilesOwnFp8IsFound) {
  const TempFolder folder;
  write_file_atomically(folder.path() / "fp8" / "config.json",
                        R"({"num_experts":16,"num_experts_per_tok":4,"moe_intermediate_size":256,"hidden_size":512,
                            "quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}})");
  WorkloadOptions options = preset((folder.path() / "fp8").string(), 2);
  options.dtype = "auto";
  EXPECT_EQ(workload_slug(make_workload(options)), "fp8-fp8_w8a8-tp2");
  EXPECT_EQ(make_workload(options).block_shape, (BlockShape{128, 128}));
}

}  // namespace moetune
