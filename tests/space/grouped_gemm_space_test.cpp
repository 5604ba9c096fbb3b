// The shipped space of the grouped GEMM against counts and rules worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>

#include "space/space.h"

namespace moetune {
namespace {

constexpr std::int64_t h200_shared = 232'448;

Variables kimi_k2_tp4(std::int64_t tokens) {
  return {{"tokens", tokens},
          {"topk", 8},
          {"experts", 384},
          {"local_experts", 384},
          {"hidden", 7168},
          {"shard", 512},
          {"element_bytes", 1},
          {"block_n", 128},
          {"block_k", 128},
          {"is_fp8", 1},
          {"is_block", 1},
          {"slots", tokens * 8},
          {"sm_count", 132},
          {"naive_sort", tokens * 8 * 4 <= 384},
          {"compute_capability", 90},
          {"shared_memory_per_block_optin", h200_shared}};
}

Variables mixtral_tp2(std::int64_t tokens) {
  Variables variables = kimi_k2_tp4(tokens);
  const Variables differing = {{"topk", 2},      {"experts", 8},        {"local_experts", 8},
                               {"hidden", 4096}, {"shard", 7168},       {"element_bytes", 2},
                               {"block_n", 0},   {"block_k", 0},        {"is_fp8", 0},
                               {"is_block", 0},  {"slots", tokens * 2}, {"naive_sort", tokens * 2 * 4 <= 8}};
  for (const auto& [name, value] : differing) variables[name] = value;
  return variables;
}

std::int64_t dropped_by(const Enumeration& enumeration, const std::string& part) {
  for (const Dropped& dropped : enumeration.dropped) {
    if (dropped.constraint.find(part) != std::string::npos) return dropped.count;
  }
  ADD_FAILURE() << "no constraint " << part;
  return -1;
}

std::set<std::int64_t> values_of(const Enumeration& enumeration, const std::string& parameter) {
  std::set<std::int64_t> values;
  for (const Config& config : enumeration.candidates) values.insert(config.at(parameter));
  return values;
}

TEST(GroupedGemmSpace, IsEmbeddedAndHoldsTheEnginesSpace) {
  const std::vector<std::string> names = space_names();
  EXPECT_NE(std::find(names.begin(), names.end(), "grouped_gemm"), names.end());
  const Space space = load_space("grouped_gemm");
  EXPECT_EQ(space.name, "grouped_gemm");
  EXPECT_EQ(space.points(), 6 * 4 * 3 * 4 * 2 * 4);
  EXPECT_EQ(key_of(space.default_config),
            "BLOCK_SIZE_M=16,BLOCK_SIZE_N=64,BLOCK_SIZE_K=128,GROUP_SIZE_M=1,num_warps=4,num_stages=3");
}

TEST(GroupedGemmSpace, EveryPointIsACandidateOrDropped) {
  const Space space = load_space("grouped_gemm");
  for (const Variables& variables : {kimi_k2_tp4(1), kimi_k2_tp4(4096), mixtral_tp2(1), mixtral_tp2(512)}) {
    const Enumeration all = enumerate(space, variables);
    std::int64_t total = static_cast<std::int64_t>(all.candidates.size());
    for (const Dropped& dropped : all.dropped) total += dropped.count;
    EXPECT_EQ(total, space.points());
    EXPECT_GT(all.candidates.size(), 50u);
    EXPECT_NE(std::find(all.candidates.begin(), all.candidates.end(), space.default_config), all.candidates.end());
  }
}

TEST(GroupedGemmSpace, BlockScalesLeave1536OfThe2304Points) {
  const Space space = load_space("grouped_gemm");
  const Enumeration block = enumerate(space, kimi_k2_tp4(4096));
  EXPECT_EQ(dropped_by(block, "scale block"), 2304 - 1536);
  EXPECT_EQ(values_of(block, "BLOCK_SIZE_K"), (std::set<std::int64_t>{64, 128}));
  const Enumeration plain = enumerate(space, mixtral_tp2(4096));
  EXPECT_EQ(dropped_by(plain, "scale block"), 0);
  EXPECT_EQ(values_of(plain, "BLOCK_SIZE_K"), (std::set<std::int64_t>{64, 128, 256}));
}

TEST(GroupedGemmSpace, BlockSizeM8NeedsWideTiles) {
  const Enumeration all = enumerate(load_space("grouped_gemm"), kimi_k2_tp4(4096));
  EXPECT_EQ(dropped_by(all, "BLOCK_SIZE_M 8"), 2 * 4 * 2 * 4);  // BLOCK_SIZE_N 32 with two BLOCK_SIZE_K
  int small = 0;
  for (const Config& config : all.candidates) {
    if (config.at("BLOCK_SIZE_M") != 8) continue;
    ++small;
    EXPECT_GE(config.at("BLOCK_SIZE_N"), 64);
  }
  EXPECT_GT(small, 0);
}

TEST(GroupedGemmSpace, GroupsNeedExpertsWithSeveralBlocks) {
  const Space space = load_space("grouped_gemm");
  using Set = std::set<std::int64_t>;
  // Kimi, 192 tokens: 4 slots an expert on average, half of BLOCK_SIZE_M 8; 193 are just above.
  EXPECT_EQ(values_of(enumerate(space, kimi_k2_tp4(1)), "GROUP_SIZE_M"), (Set{1}));
  EXPECT_EQ(values_of(enumerate(space, kimi_k2_tp4(192)), "GROUP_SIZE_M"), (Set{1}));
  EXPECT_EQ(values_of(enumerate(space, kimi_k2_tp4(193)), "GROUP_SIZE_M"), (Set{1, 16, 32, 64}));
  for (const Config& config : enumerate(space, kimi_k2_tp4(193)).candidates) {
    EXPECT_TRUE(config.at("GROUP_SIZE_M") == 1 || config.at("BLOCK_SIZE_M") == 8) << key_of(config);
  }
}

TEST(GroupedGemmSpace, GroupsDependOnBlockSizeMWhenSorted) {
  // Mixtral, 64 tokens: 128 slots over 8 experts. At most (128 + 8*(BM-1) + BM-1) / BM blocks: 16 at BM 16 ((128 + 120
  // + 15) / 16), 23 at BM 8 ((128 + 56 + 7) / 8). An expert's 16 slots are one block at BM 256.
  const Enumeration all = enumerate(load_space("grouped_gemm"), mixtral_tp2(64));
  std::set<std::int64_t> at_8, at_16, at_256;
  for (const Config& config : all.candidates) {
    const std::int64_t group = config.at("GROUP_SIZE_M");
    if (config.at("BLOCK_SIZE_M") == 8) at_8.insert(group);
    if (config.at("BLOCK_SIZE_M") == 16) at_16.insert(group);
    if (config.at("BLOCK_SIZE_M") == 256) at_256.insert(group);
  }
  EXPECT_EQ(at_8, (std::set<std::int64_t>{1, 16, 32}));
  EXPECT_EQ(at_16, (std::set<std::int64_t>{1, 16}));
  EXPECT_EQ(at_256, (std::set<std::int64_t>{1}));
}

TEST(GroupedGemmSpace, SharedMemoryLimitIsExact) {
  const Space space = load_space("grouped_gemm");
  Config config = space.default_config;
  config.set("BLOCK_SIZE_N", 128);
  config.set("num_stages", 4);
  const auto is_candidate = [&](Variables variables, std::int64_t shared) {
    variables["shared_memory_per_block_optin"] = shared;
    const auto all = enumerate(space, variables).candidates;
    return std::find(all.begin(), all.end(), config) != all.end();
  };
  // (16 + 128) rows of 128 bytes and 24 scales a stage, then 16 pairs of slot and row.
  const std::int64_t block_need = 4 * (144 * 128 + 24 * 4) + 128;
  EXPECT_TRUE(is_candidate(kimi_k2_tp4(64), block_need));
  EXPECT_FALSE(is_candidate(kimi_k2_tp4(64), block_need - 1));
  const std::int64_t bf16_need = 4 * 144 * 128 * 2 + 128;
  EXPECT_TRUE(is_candidate(mixtral_tp2(64), bf16_need));
  EXPECT_FALSE(is_candidate(mixtral_tp2(64), bf16_need - 1));
}

TEST(GroupedGemmSpace, AccumulatorsAreAtMost192RegistersAThread) {
  for (const Variables& variables : {kimi_k2_tp4(4096), mixtral_tp2(4096)}) {
    std::int64_t largest = 0;
    for (const Config& config : enumerate(load_space("grouped_gemm"), variables).candidates) {
      const std::int64_t sums = config.at("BLOCK_SIZE_M") * config.at("BLOCK_SIZE_N") / (32 * config.at("num_warps"));
      largest = std::max(largest, sums * (1 + variables.at("is_block")));
    }
    EXPECT_EQ(largest, 128);  // the next larger tile needs 256
  }
}

TEST(GroupedGemmSpace, EighteenTokenCountsTakeMilliseconds) {
  const Space space = load_space("grouped_gemm");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 18; ++i) enumerate(space, kimi_k2_tp4(64 + i));
  // A tenth of this where nothing else runs; the margin is for sanitizers and shared machines.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace moetune
