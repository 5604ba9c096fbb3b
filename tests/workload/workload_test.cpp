#include "workload/workload.h"

#include "workload/expect_error.h"

namespace moetune {
namespace {

Workload kimi(int tp, int ep = 1) {
  return {"kimi-k2", 384, 8, 7168, 2048, tp, ep, Dtype::fp8_w8a8, Scales::block, BlockShape{128, 128}};
}

Workload mixtral(int tp, int ep = 1) {
  return {"mixtral-8x7b", 8, 2, 4096, 14336, tp, ep, Dtype::bf16, Scales::none, std::nullopt};
}

std::string check_error(const Workload& w) {
  return usage_error([&] { check_workload(w); });
}

}  // namespace

TEST(Workload, SharesOfARank) {
  EXPECT_EQ(kimi(4).local_experts(), 384);
  EXPECT_EQ(kimi(4).shard(), 512);
  EXPECT_EQ(kimi(4, 4).local_experts(), 96);
  EXPECT_EQ(kimi(4, 4).shard(), 2048);
  EXPECT_EQ(kimi(8, 4).local_experts(), 96);
  EXPECT_EQ(kimi(8, 4).shard(), 1024);
}

TEST(Workload, BytesCountWeightsAndScales) {
  Workload w = kimi(4);
  EXPECT_EQ(w1_bytes_per_expert(w), 1024LL * 7168 + 4 * 8 * 56);
  EXPECT_EQ(w2_bytes_per_expert(w), 7168LL * 512 + 4 * 56 * 4);
  w.scales = Scales::channel;
  w.block_shape.reset();
  EXPECT_EQ(w1_bytes_per_expert(w), 1024LL * 7168 + 4 * 1024);
  EXPECT_EQ(w2_bytes_per_expert(w), 7168LL * 512 + 4 * 7168);
  w.scales = Scales::tensor;
  EXPECT_EQ(w1_bytes_per_expert(w), 1024LL * 7168 + 4);
  EXPECT_EQ(w1_bytes_per_expert(mixtral(2)), 2LL * 14336 * 4096);
  EXPECT_EQ(w2_bytes_per_expert(mixtral(1)), 2LL * 4096 * 14336);
}

TEST(Workload, ABlockThatEndsInsideTheHiddenSizeNeedsAScaleToo) {
  Workload w = kimi(4);
  w.hidden = 200;
  EXPECT_EQ(w1_bytes_per_expert(w), 1024LL * 200 + 4 * 8 * 2);
  EXPECT_EQ(w2_bytes_per_expert(w), 200LL * 512 + 4 * 2 * 4);
}

TEST(Workload, Slugs) {
  EXPECT_EQ(workload_slug(kimi(4)), "kimi-k2-fp8_w8a8-tp4");
  EXPECT_EQ(workload_slug(kimi(4, 4)), "kimi-k2-fp8_w8a8-ep4");
  EXPECT_EQ(workload_slug(kimi(8, 4)), "kimi-k2-fp8_w8a8-tp8-ep4");
  EXPECT_EQ(workload_slug(kimi(1)), "kimi-k2-fp8_w8a8-tp1");
  EXPECT_EQ(workload_slug(mixtral(2)), "mixtral-8x7b-bf16-tp2");

  Workload w = kimi(4);
  w.block_shape = BlockShape{64, 128};
  EXPECT_EQ(workload_slug(w), "kimi-k2-fp8_w8a8-tp4-block64x128");
  w.block_shape.reset();
  w.scales = Scales::channel;
  EXPECT_EQ(workload_slug(w), "kimi-k2-fp8_w8a8-tp4-channel");
  w.scales = Scales::tensor;
  EXPECT_EQ(workload_slug(w), "kimi-k2-fp8_w8a8-tp4-tensor");
  w.model = "../../My model/ü";
  EXPECT_EQ(workload_slug(w), "-..-My-model----fp8_w8a8-tp4-tensor");
  w.model = "..";
  EXPECT_EQ(workload_slug(w), "model-fp8_w8a8-tp4-tensor");
}

TEST(Workload, JsonRoundTrip) {
  Workload channel = kimi(2);
  channel.scales = Scales::channel;
  channel.block_shape.reset();
  for (const Workload& w : {kimi(4), kimi(8, 4), mixtral(2), channel}) {
    EXPECT_EQ(workload_from_json(Json::parse(to_json(w).dump())), w);
  }
  EXPECT_EQ(to_json(kimi(8, 4)).dump(),
            R"({"model":"kimi-k2","experts":384,"topk":8,"hidden":7168,"intermediate":2048,"tp":8,"ep":4,)"
            R"("dtype":"fp8_w8a8","scales":"block","block_shape":[128,128],"local_experts":96,"shard":1024})");
}

TEST(Workload, BadJsonIsAUsageError) {
  Json json = to_json(kimi(4));
  json.erase("topk");
  expect_parts(usage_error([&] { workload_from_json(json); }), {"not a workload", "topk"});
  json["topk"] = 1.5;
  expect_parts(usage_error([&] { workload_from_json(json); }), {"topk", "no whole number"});
  json["topk"] = 8;
  json["tp"] = 32;
  expect_parts(usage_error([&] { workload_from_json(json); }), {"shard of 64"});
  usage_error([] { workload_from_json(Json::parse("[1]")); });
}

TEST(Workload, GoodOnesPass) {
  for (const Workload& w :
       {kimi(1), kimi(4), kimi(16), kimi(4, 4), kimi(8, 4), kimi(128, 128), mixtral(7), mixtral(8, 8)}) {
    EXPECT_NO_THROW(check_workload(w)) << workload_slug(w);
  }
  // Without block scales a narrow, odd shard is legal.
  EXPECT_NO_THROW(check_workload({"m", 60, 4, 2048, 1408, 16, 1, Dtype::bf16, Scales::none, std::nullopt}));
}

TEST(Workload, ExpertsThatDoNotDivide) {
  Workload w = mixtral(8, 8);
  w.experts = 60;
  expect_parts(check_error(w),
               {"60 experts do not divide over 8 ranks", "--ep values that work: 1, 2, 3, 4, 5, 6, 10"});
}

TEST(Workload, EpAgainstTp) {
  expect_parts(check_error(kimi(4, 8)), {"--ep 8 is more than --tp 4"});
  expect_parts(check_error(kimi(8, 3)), {"--tp 8", "--ep 3", "multiple of ep"});
}

TEST(Workload, IntermediateThatDoesNotDivide) {
  expect_parts(check_error(mixtral(3)), {"14336 does not divide over 3 ranks", "--tp values that work: 1, 2, 4, 7, 8"});
}

TEST(Workload, ShardThatSplitsAScaleBlock) {
  const std::string error = check_error(kimi(32));
  expect_parts(error,
               {"2048 over 32 ranks", "shard of 64", "scale block's 128", "--tp values that work: 1, 2, 4, 8, 16"});
  EXPECT_EQ(error.find("16, 32"), std::string::npos) << error;
  expect_parts(check_error(kimi(128, 4)), {"--tp values that work with --ep 4: 4, 8, 16, 32, 64"});

  Workload along_k = kimi(4);
  along_k.block_shape = BlockShape{64, 1024};
  expect_parts(check_error(along_k), {"scale block's 1024"});

  Workload never = kimi(2, 2);
  never.intermediate = 1000;
  expect_parts(check_error(never), {"shard of 1000", "no --tp works", "--scales channel"});
}

TEST(Workload, SizesAndScalesThatMakeNoSense) {
  Workload w = mixtral(1);
  w.topk = 9;
  expect_parts(check_error(w), {"topk 9", "8 experts"});
  w = mixtral(1);
  w.hidden = 0;
  expect_parts(check_error(w), {"--hidden", "at least 1", "0"});
  expect_parts(check_error(mixtral(0)), {"--tp"});
  expect_parts(check_error(mixtral(1, -1)), {"--ep"});
  w = mixtral(1);
  w.block_shape = BlockShape{128, 128};
  expect_parts(check_error(w), {"block shape"});
  w = mixtral(1);
  w.scales = Scales::tensor;
  expect_parts(check_error(w), {"bf16", "tensor"});
  w = kimi(1);
  w.block_shape = BlockShape{0, 128};
  expect_parts(check_error(w), {"--block-shape", "0,128"});
}

TEST(Workload, NamesOfDtypesAndScales) {
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16, Dtype::fp8_w8a8})
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  for (const Scales scales : {Scales::none, Scales::tensor, Scales::channel, Scales::block}) {
    EXPECT_EQ(scales_from_name(name_of(scales)), scales);
  }
  EXPECT_EQ(usage_error([] { dtype_from_name("fp8"); }), "unknown dtype 'fp8'; known are fp16, bf16, fp8_w8a8");
  expect_parts(usage_error([] { scales_from_name("blocks"); }), {"unknown scales 'blocks'; known are block, "});
}

TEST(TokenCounts, DefaultsAreTheEngines) {
  EXPECT_EQ(default_token_counts().size(), 18u);
  EXPECT_EQ(default_token_counts().front(), 1);
  EXPECT_EQ(default_token_counts().back(), 4096);
}

TEST(TokenCounts, ListsAndRanges) {
  EXPECT_EQ(parse_token_counts("3,12,24"), (std::vector<int>{3, 12, 24}));
  EXPECT_EQ(parse_token_counts("1-4"), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(parse_token_counts("64, 2 - 4 ,3,64"), (std::vector<int>{2, 3, 4, 64}));
  EXPECT_EQ(parse_token_counts("300000"), (std::vector<int>{300000}));
}

TEST(TokenCounts, BadOnesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "'' is no whole number"},
      {"1,,2", "'' is no whole number"},
      {"abc", "'abc' is no whole number"},
      {"8x", "'8x' is no whole number"},
      {"1.5", "'1.5' is no whole number"},
      {"0", "'0' is less than one token"},
      {"-3", "'-3' is less than one token"},
      {"8-4", "'8-4' ends before it starts"},
      {"4-", "'4-' is no whole number"},
      {"99999999999", "is more than 16777216 tokens"},
      {"1-20000", "makes more than 10000 token counts"},
  };
  for (const auto& [text, part] : cases) {
    expect_parts(usage_error([text = text] { parse_token_counts(text); }), {"token counts", part, "give e.g."});
  }
}

}  // namespace moetune
