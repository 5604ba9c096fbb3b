#include "base/text.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/outcome.h"

namespace moetune {

using Names = std::vector<std::string>;

TEST(Text, NearestNamesFirst) {
  const Names names = {"mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v3", "qwen3-235b-a22b", "kimi-k2"};
  EXPECT_EQ(nearest_names("qwen3-30b", names, 1), Names{"qwen3-30b-a3b"});
  EXPECT_EQ(nearest_names("DeepSeek-v2", names, 1), Names{"deepseek-v3"});
  EXPECT_EQ(nearest_names("kimi", names).size(), 3u);
  EXPECT_EQ(nearest_names("x", {"b", "a"}), (Names{"b", "a"})) << "ties keep their order";
  EXPECT_TRUE(nearest_names("x", {}).empty());
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,b,,c", ','), (Names{"a", "b", "", "c"}));
  EXPECT_EQ(split("a,", ','), (Names{"a", ""}));
  EXPECT_EQ(split("", ','), Names{""});
}

TEST(Text, JoinUndoesSplit) {
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({"a"}, ", "), "a");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join(split("x//y", '/'), "/"), "x//y");
}

TEST(Outcome, NamesGoBothWays) {
  for (int i = 0; i <= static_cast<int>(Outcome::unrecorded); ++i) {
    const Outcome outcome = static_cast<Outcome>(i);
    EXPECT_EQ(outcome_from_name(name_of(outcome)), outcome);
  }
  EXPECT_STREQ(name_of(Outcome::timeout), "timeout");
}

TEST(Outcome, AnUnknownNameIsAUsageError) {
  try {
    outcome_from_name("slow");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("'slow'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("timeout"), std::string::npos);
  }
}

}  // namespace moetune
