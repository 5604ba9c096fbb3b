#include "space/config.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace moetune {
namespace {

TEST(Config, SetReplacesInPlaceAndKeepsTheOrder) {
  Config config;
  EXPECT_TRUE(config.empty());
  config.set("BLOCK_SIZE_N", 64);
  config.set("BLOCK_SIZE_M", 16);
  config.set("BLOCK_SIZE_N", 128);
  EXPECT_EQ(key_of(config), "BLOCK_SIZE_N=128,BLOCK_SIZE_M=16");
  EXPECT_EQ(config.at("BLOCK_SIZE_M"), 16);
  EXPECT_TRUE(config.has("BLOCK_SIZE_M"));
  EXPECT_FALSE(config.has("num_warps"));
}

TEST(Config, AnAbsentParameterIsAnInternalError) {
  try {
    Config().at("num_warps");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::internal);
  }
}

TEST(Config, JsonRoundTripKeepsOrderAndValues) {
  Config config;
  config.set("z", 3);
  config.set("a", -9'000'000'000);
  EXPECT_EQ(to_json(config).dump(), R"({"z":3,"a":-9000000000})");
  EXPECT_EQ(config_from_json(to_json(config)), config);
}

TEST(Config, OnlyObjectsOfIntegersAreConfigs) {
  for (const char* text :
       {"[1]", "3", R"({"a":1.0})", R"({"a":"1"})", R"({"a":true})", R"({"a":18446744073709551615})"}) {
    try {
      config_from_json(Json::parse(text));
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage) << text;
    }
  }
}

}  // namespace
}  // namespace moetune
