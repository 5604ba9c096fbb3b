#include "results/winners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/files.h"
#include "base/temp_folder.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

Workload kimi_k2() {
  Workload w;
  w.model = "kimi-k2";
  w.experts = 384;
  w.topk = 8;
  w.hidden = 7168;
  w.intermediate = 2048;
  w.tp = 4;
  w.dtype = Dtype::fp8_w8a8;
  w.scales = Scales::block;
  w.block_shape = BlockShape{128, 128};
  return w;
}

Config config(std::int64_t m, std::int64_t stages = 3) {
  return {{{"BLOCK_SIZE_M", m},
           {"BLOCK_SIZE_N", 128},
           {"BLOCK_SIZE_K", 128},
           {"GROUP_SIZE_M", 1},
           {"num_warps", 4},
           {"num_stages", stages}}};
}

Plan plan_of(std::int64_t m) {
  return {{{{Step::quantise}, "quantise_rows", {}}, {{Step::gemm1, Step::gemm2}, "grouped_gemm", config(m)}}};
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no error";
}

TEST(EngineFileName, FollowsTheEnginesGrammar) {
  Workload w = kimi_k2();
  EXPECT_EQ(engine_file_name(w, "NVIDIA H200"),
            "E=384,N=512,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json");
  w.tp = 8;
  w.ep = 4;
  EXPECT_EQ(engine_file_name(w, "NVIDIA H200"),
            "E=96,N=1024,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json");
  w.scales = Scales::tensor;
  w.block_shape.reset();
  EXPECT_EQ(engine_file_name(w, "NVIDIA H100 80GB HBM3"),
            "E=96,N=1024,device_name=NVIDIA_H100_80GB_HBM3,dtype=fp8_w8a8.json");
  w.scales = Scales::none;
  w.dtype = Dtype::bf16;
  const std::string bf16 = engine_file_name(w, "NVIDIA H200");
  EXPECT_EQ(bf16, "E=96,N=1024,device_name=NVIDIA_H200.json");
  w.dtype = Dtype::fp16;
  EXPECT_EQ(engine_file_name(w, "NVIDIA H200"), bf16);
}

TEST(EngineFileName, DeviceNames) {
  EXPECT_EQ(engine_device_name("NVIDIA H200"), "NVIDIA_H200");
  EXPECT_EQ(engine_device_name("NVIDIA H200 NVL"), "NVIDIA_H200");
  EXPECT_EQ(engine_device_name("NVIDIA GH200 480GB"), "NVIDIA_GH200_480GB");
  EXPECT_EQ(engine_device_name("NVIDIA H20-3e"), "NVIDIA_H20-3e");
  EXPECT_EQ(engine_device_name("A / B\t  C"), "A_B_C");
}

TEST(EngineFile, TextIsWhatTheEnginesTunerWrites) {
  EXPECT_EQ(engine_file_text({{16, config(16)}, {2, config(8, 4)}}),
            "{\n"
            "    \"2\": {\n"
            "        \"BLOCK_SIZE_M\": 8,\n"
            "        \"BLOCK_SIZE_N\": 128,\n"
            "        \"BLOCK_SIZE_K\": 128,\n"
            "        \"GROUP_SIZE_M\": 1,\n"
            "        \"num_warps\": 4,\n"
            "        \"num_stages\": 4\n"
            "    },\n"
            "    \"16\": {\n"
            "        \"BLOCK_SIZE_M\": 16,\n"
            "        \"BLOCK_SIZE_N\": 128,\n"
            "        \"BLOCK_SIZE_K\": 128,\n"
            "        \"GROUP_SIZE_M\": 1,\n"
            "        \"num_warps\": 4,\n"
            "        \"num_stages\": 3\n"
            "    }\n"
            "}\n");
}

TEST(EngineFile, WritesTheEnginesOrderAndNothingElse) {
  Config turned = config(16);
  std::reverse(turned.values.begin(), turned.values.end());
  EXPECT_EQ(engine_file_text({{1, turned}}), engine_file_text({{1, config(16)}}));
  turned.set("SPLIT_K", 1);
  EXPECT_THROW(engine_file_text({{1, turned}}), Error);
}

class EngineFileTest : public testing::Test {
 protected:
  TempFolder folder;
  fs::path path = folder.path() / "E=1,N=1.json";
  EngineFile read(const std::string& text) {
    write_file_atomically(path, text);
    return read_engine_file(path);
  }
  std::string message(const std::string& text) {
    return message_of([&] { read(text); });
  }
};

TEST_F(EngineFileTest, ReadsWhatItWrites) {
  const EngineFile file = read(engine_file_text({{1, config(16)}, {64, config(64)}}));
  ASSERT_EQ(file.size(), 2u);
  EXPECT_EQ(file[0], std::make_pair(1, config(16)));
  EXPECT_EQ(file[1], std::make_pair(64, config(64)));
}

TEST_F(EngineFileTest, ReadsWhatTheEngineTolerates) {
  const EngineFile file = read(
      R"({"triton_version": "3.5.1", "32": {"BLOCK_SIZE_K": 128, "BLOCK_SIZE_N": 128, "GROUP_SIZE_M": 1,
          "BLOCK_SIZE_M": 16, "USE_TMA": true}})");
  ASSERT_EQ(file.size(), 1u);
  Config expected = config(16);  // with Triton's defaults, in the writer's order
  expected.set("USE_TMA", 1);
  EXPECT_EQ(file[0].second, expected);
}

TEST_F(EngineFileTest, NamesTheMemberAtFault) {
  EXPECT_NE(message("[1]").find(path.string()), std::string::npos);
  EXPECT_NE(message("{").find("no JSON"), std::string::npos);
  EXPECT_NE(message("{}").find("no token count"), std::string::npos);
  EXPECT_NE(message(R"({"version": {}})").find("version"), std::string::npos);
  EXPECT_NE(message(R"({"0": {}})").find("0: is no token count"), std::string::npos);
  EXPECT_NE(message(R"({"4": 7})").find("4: must be an object, found 7"), std::string::npos);
  EXPECT_NE(message(R"({"4": {"BLOCK_SIZE_M": 16}})").find("4: lacks BLOCK_SIZE_N"), std::string::npos);
  EXPECT_NE(message(R"({"4": {"BLOCK_SIZE_M": "16"}})").find("4.BLOCK_SIZE_M: must be an integer"), std::string::npos);
  EXPECT_NE(message(R"({"4": {"BLOCK_SIZE_X": 16}})").find("nearest: BLOCK_SIZE_"), std::string::npos);
  EXPECT_NE(message(R"({"4": {"BLOCK_SIZE_M": 0, "BLOCK_SIZE_N": 1, "BLOCK_SIZE_K": 1, "GROUP_SIZE_M": 1}})")
                .find("BLOCK_SIZE_M: must be at least 1"),
            std::string::npos);
}

TEST(EngineFile, LookupTakesTheNearestKey) {
  const EngineFile file = {{16, config(16)}, {24, config(32)}, {1024, config(64)}, {1536, config(128)}};
  EXPECT_EQ(engine_key_for(file, 1), 16);
  EXPECT_EQ(engine_key_for(file, 20), 16);
  EXPECT_EQ(engine_key_for(file, 21), 24);
  EXPECT_EQ(engine_key_for(file, 1280), 1024);
  EXPECT_EQ(engine_key_for(file, 20000), 1536);
  EXPECT_EQ(engine_config_for(file, 22), config(32));
}

TEST(EngineFile, LookupTiesGoToTheKeyListedFirst) {
  EXPECT_EQ(engine_key_for({{3328, config(16)}, {3072, config(64)}}, 3200), 3328);
  EXPECT_EQ(engine_key_for({{3072, config(16)}, {3328, config(64)}}, 3200), 3072);
}

// Every file in the data folder beside the repository, when there is one.
TEST(EngineFile, ReadsTheEnginesOwnFiles) {
  int read = 0;
  for (const char* folder : {"vllm_configs", "sglang_configs"}) {
    const fs::path data = fs::path(MOETUNE_SOURCE_DIR).parent_path() / "shared" / "data" / folder;
    if (!fs::is_directory(data)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(data)) {
      if (entry.path().extension() != ".json") continue;
      const EngineFile file = read_engine_file(entry.path());
      EXPECT_FALSE(file.empty()) << entry.path();
      ++read;
    }
  }
  if (read == 0) GTEST_SKIP() << "no shared data folder";
  EXPECT_GE(read, 70);
}

TEST(NativeFile, NamesAndRecordPath) {
  EXPECT_EQ(native_file_name(kimi_k2()), "native/kimi-k2-fp8_w8a8-tp4.json");
  EXPECT_EQ(record_path("a/E=1,N=2,block_shape=[128,128].json"), "a/E=1,N=2,block_shape=[128,128].record.json");
}

TEST(NativeFile, TextIsDeterministicAndReadsBack) {
  const TempFolder folder;
  const fs::path path = folder.path() / "w.json";
  const std::map<int, NativeWinner> winners = {{16, {plan_of(16), 35.75}}, {2, {plan_of(8), 28.347}}};
  const std::string text = native_file_text(kimi_k2(), "NVIDIA H200", winners);
  EXPECT_EQ(text, native_file_text(kimi_k2(), "NVIDIA H200", winners));
  EXPECT_EQ(text.back(), '\n');
  EXPECT_LT(text.find("\"2\": {"), text.find("\"16\": {"));
  const Json json = Json::parse(text);
  EXPECT_EQ(json["format"], "moetune.winners/1");
  EXPECT_EQ(json["winners"]["16"]["op_us"], 35.75);
  EXPECT_EQ(json["winners"]["2"]["plan"], to_json(plan_of(8)));

  write_file_atomically(path, text);
  const NativeFile file = read_native_file(path);
  EXPECT_EQ(file.device, "NVIDIA H200");
  EXPECT_EQ(file.workload, kimi_k2());
  ASSERT_EQ(file.winners.size(), 2u);
  EXPECT_EQ(file.winners.at(2).plan, plan_of(8));
  EXPECT_EQ(file.winners.at(2).op_us, 28.347);
  EXPECT_EQ(native_file_text(file.workload, file.device, file.winners), text);
}

TEST(NativeFile, WithoutWinnersIsStillJson) {
  EXPECT_EQ(Json::parse(native_file_text(kimi_k2(), "d", {}))["winners"], Json::object());
}

TEST(NativeFile, NamesTheMemberAtFault) {
  const TempFolder folder;
  const fs::path path = folder.path() / "w.json";
  const Json good = Json::parse(native_file_text(kimi_k2(), "d", {{2, {plan_of(8), 1.0}}}));
  const auto message = [&](const std::function<void(Json&)>& edit) {
    Json json = good;
    edit(json);
    write_file_atomically(path, json.dump());
    return message_of([&] { read_native_file(path); });
  };
  EXPECT_EQ(message([](Json&) {}), "no error");
  EXPECT_NE(message([](Json& j) { j["format"] = "x"; }).find("moetune.winners/1"), std::string::npos);
  EXPECT_NE(message([](Json& j) { j.erase("workload"); }).find("workload"), std::string::npos);
  EXPECT_NE(message([](Json& j) { j["winners"]["2"].erase("op_us"); }).find("winners.2: needs a number"),
            std::string::npos);
  EXPECT_NE(message([](Json& j) { j["winners"]["2"]["plan"][0]["steps"][0] = "x"; }).find("winners.2.plan"),
            std::string::npos);
  EXPECT_NE(message([](Json& j) { j["winners"]["two"] = j["winners"]["2"]; }).find("winners.two"), std::string::npos);
}

}  // namespace
}  // namespace moetune
