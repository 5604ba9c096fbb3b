// What --dry-run says of names, candidates and memory.
#include <gtest/gtest.h>

#include "base/temp_folder.h"
#include "cli/command.h"

namespace moetune {
namespace {

class DryRun : public testing::Test {
 protected:
  std::string dry(const std::string& arguments) const {
    const Ran ran = moetune_in(folder_.path(), arguments + " --dry-run");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    return ran.out;
  }

  const TempFolder folder_;
};

TEST_F(DryRun, MainJob) {
  const std::string text = dry("--model kimi-k2 --dtype fp8_w8a8 --tp 4");
  expect_has(text, {"E=384,N=512,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json\n"});
  expect_has(text, {"native/kimi-k2-fp8_w8a8-tp4.json\n"});
  expect_has(text, {"journals/kimi-k2-fp8_w8a8-tp4.native.jsonl\n"});
  expect_has(text, {" points", "stages fit shared memory"});
  EXPECT_TRUE(matches(text, "memory +[0-9.]+ GB")) << text;
  for (const int tokens : {1, 64, 4096})
    EXPECT_TRUE(matches(text, "\n +" + std::to_string(tokens) + " +[0-9]+ ")) << text;
  expect_has(text, {}, {"refuse"});
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "a dry run writes nothing";
}

TEST_F(DryRun, CountsAddUpToTheSpace) {
  std::istringstream lines(dry("--model kimi-k2 --tp 4 --tokens 64"));
  std::string line, last;
  int points = 0;
  for (; std::getline(lines, line); last = line) {
    std::smatch found;
    if (std::regex_search(line, found, std::regex("([0-9]+) points"))) points = std::stoi(found[1]);
  }
  std::istringstream row(last);
  int tokens = 0, sum = 0;
  row >> tokens;
  for (int count; row >> count;) sum += count;
  EXPECT_EQ(tokens, 64);
  EXPECT_GT(points, 1000);
  EXPECT_EQ(sum, points);
}

// User reports: servers ask for other names with experts spread over ranks than with them split.
TEST_F(DryRun, ExpertParallelNames) {
  expect_has(dry("--experts 128 --intermediate 1536 --topk 8 --tp 8 --ep"), {"E=16,N=1536,device_name="});
  expect_has(dry("--experts 128 --intermediate 1536 --topk 8 --tp 8"), {"E=128,N=192,device_name="});
  expect_has(dry("--experts 128 --intermediate 1536 --topk 8 --hidden 4096 --tp 8 --ep --dtype fp8_w8a8 "
                 "--block-shape 128,128 --tokens 1"),
             {"E=16,N=1536,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json"});
  const std::string sizes = "--experts 256 --intermediate 2048 --topk 8 --hidden 7168 --tokens 1 --tp 8";
  expect_has(dry(sizes), {"E=256,N=256,"});
  expect_has(dry(sizes + " --ep"), {"E=32,N=2048,"});
  expect_has(dry(sizes + " --ep 8"), {"E=32,N=2048,"});
  expect_has(dry("--experts 60 --intermediate 1408 --topk 4 --hidden 2048 --tokens 1 --tp 16"), {"E=60,N=88,"});
}

TEST_F(DryRun, SplitsThatAreNotWhole) {
  const auto error = [&](const std::string& arguments) {
    const Ran ran = moetune_in(folder_.path(), arguments + " --dry-run");
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  expect_has(error("--experts 60 --intermediate 1408 --topk 4 --tp 8 --ep"), {"60 experts do not divide"});
  expect_has(error("--experts 60 --intermediate 1408 --topk 4 --tp 16 --dtype fp8_w8a8 --block-shape 128,128"),
             {"88", "128"});
}

TEST_F(DryRun, WarnsWhereTuningWouldRefuse) {
  expect_has(dry("--model llama-4-maverick --experts 384 --tokens 1 --arch sm_89"), {"does not fit"});
  expect_has(dry("--experts 128 --intermediate 1536 --topk 8"), {"refuse", "--hidden"});
}

TEST_F(DryRun, ForAnotherTarget) {
  expect_has(dry("--model mixtral-8x7b --tp 8 --tokens 1 --arch sm_80"), {"sm_80", "the GPU's own name"});
}

}  // namespace
}  // namespace moetune
