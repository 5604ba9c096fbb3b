#include "space/space.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "base/error.h"

namespace moetune {
namespace {

Json small_space() {
  return Json::parse(R"({
    "format": "moetune.space/1", "name": "small",
    "parameters": {"a": [1, 2, 3], "b": [10, 20]},
    "constraints": [
      {"name": "a below limit", "outcome": "constraints", "expression": "a < limit"},
      {"name": "product", "outcome": "resources", "expression": "a * b < 40"}],
    "default": {"b": 10, "a": 1}})");
}

std::string fault_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

// The message for small_space() after a change.
std::string fault_after(const std::function<void(Json&)>& change) {
  Json json = small_space();
  change(json);
  return fault_of([&] { parse_space(json, "here.json"); });
}

TEST(SpaceParser, ReadsEveryMember) {
  Json json = small_space();
  json["note"] = "a note";
  const Space space = parse_space(json, "here.json");
  EXPECT_EQ(space.name, "small");
  EXPECT_EQ(space.note, "a note");
  EXPECT_EQ(space.points(), 6);
  ASSERT_EQ(space.constraints.size(), 2u);
  EXPECT_EQ(space.constraints[1].name, "product");
  EXPECT_EQ(space.constraints[1].outcome, Outcome::resources);
  EXPECT_EQ(key_of(space.default_config), "a=1,b=10");  // in the parameters' order
}

TEST(SpaceParser, NamesTheUnknownMemberAndItsNearest) {
  EXPECT_EQ(fault_after([](Json& json) {
              json["defualt"] = 1;
            }).find("here.json: unknown member 'defualt'; nearest known: default"),
            0u);
  EXPECT_NE(fault_after([](Json& json) {
              json["constraints"][0]["outcom"] = 1;
            }).find("constraints[0]: unknown member 'outcom'; nearest known: outcome"),
            std::string::npos);
  EXPECT_NE(fault_after([](Json& json) { json["default"]["c"] = 1; }).find("default: unknown member 'c'"),
            std::string::npos);
}

TEST(SpaceParser, NamesTheMissingMember) {
  for (const char* name : {"format", "name", "parameters", "constraints", "default"}) {
    const std::string message = fault_after([&](Json& json) { json.erase(name); });
    EXPECT_NE(message.find(std::string("missing member '") + name + "'"), std::string::npos) << message;
  }
  EXPECT_NE(fault_after([](Json& json) {
              json["constraints"][1].erase("expression");
            }).find("constraints[1]: missing member 'expression'"),
            std::string::npos);
  EXPECT_NE(fault_after([](Json& json) { json["default"].erase("a"); }).find("default: missing member 'a'"),
            std::string::npos);
}

TEST(SpaceParser, RefusesWrongValues) {
  using Change = std::function<void(Json&)>;
  const std::vector<std::pair<const char*, Change>> cases = {
      {"moetune.space/1", [](Json& json) { json["format"] = "moetune.space/2"; }},
      {"'name' must be text", [](Json& json) { json["name"] = 3; }},
      {"'name' must be text", [](Json& json) { json["name"] = ""; }},
      {"parameters: must be an object", [](Json& json) { json["parameters"] = Json::array(); }},
      {"at least one", [](Json& json) { json["parameters"] = Json::object(); }},
      {"'a' must be a list", [](Json& json) { json["parameters"]["a"] = 3; }},
      {"'a' must be a list", [](Json& json) { json["parameters"]["a"] = Json::array(); }},
      {"value of 'a' must be a 64-bit integer, found 2.0", [](Json& json) { json["parameters"]["a"][1] = 2.0; }},
      {"value of 'a' must be a 64-bit integer",
       [](Json& json) { json["parameters"]["a"][1] = 18446744073709551615ull; }},
      {"'a' holds 1 twice", [](Json& json) { json["parameters"]["a"].push_back(1); }},
      {"'a b' is no parameter name", [](Json& json) { json["parameters"]["a b"] = {1}; }},
      {"'1a' is no parameter name", [](Json& json) { json["parameters"]["1a"] = {1}; }},
      {"'constraints' must be a list", [](Json& json) { json["constraints"] = Json::object(); }},
      {"constraints[0]: must be an object", [](Json& json) { json["constraints"][0] = "a < 1"; }},
      {"'outcome' is 'crash'", [](Json& json) { json["constraints"][0]["outcome"] = "crash"; }},
      {"stands twice", [](Json& json) { json["constraints"][1]["name"] = "a below limit"; }},
      {"constraint 'product': expression \"a <\"", [](Json& json) { json["constraints"][1]["expression"] = "a <"; }},
      {"'a' is 4, which is not among its values", [](Json& json) { json["default"]["a"] = 4; }},
      {"'a' must be a 64-bit integer", [](Json& json) { json["default"]["a"] = "1"; }},
  };
  for (const auto& [expected, change] : cases) {
    const std::string message = fault_after(change);
    EXPECT_NE(message.find(expected), std::string::npos) << "wanted " << expected << ", found " << message;
    EXPECT_EQ(message.find("here.json"), 0u) << message;
  }
  EXPECT_NE(fault_of([] { parse_space(Json::array(), "here.json"); }).find("must be an object"), std::string::npos);
}

TEST(SpaceParser, RefusesASpaceTooLargeToEnumerate) {
  const std::string message = fault_after([](Json& json) {
    Json values = Json::array();
    for (int i = 0; i < 1000; ++i) values.push_back(i);
    for (const char* name : {"c", "d", "e", "f", "g", "h", "i"}) json["parameters"][name] = values;
  });
  EXPECT_NE(message.find("more than 1000000 points"), std::string::npos) << message;
}

TEST(SpaceFile, RepeatedMembersAndBadJsonAreErrors) {
  const std::string path = testing::TempDir() + "moetune_space_test.json";
  const auto load = [&](const std::string& text) {
    std::ofstream(path) << text;
    return fault_of([&] { load_space(path); });
  };
  std::string text = small_space().dump();
  std::ofstream(path) << text;
  EXPECT_EQ(load_space(path).name, "small");
  text.insert(1, R"("name": "other", )");
  EXPECT_NE(load(text).find("member \"name\" stands twice"), std::string::npos);
  const std::string message = load("{\"format\": ");
  EXPECT_NE(message.find(path + ": no valid JSON"), std::string::npos) << message;
  EXPECT_EQ(message.find("json.exception"), std::string::npos) << message;
  std::filesystem::remove(path);
}

TEST(SpaceFile, AnUnknownNameShowsTheNearest) {
  const std::string message = fault_of([] { load_space("grouped_gem"); });
  EXPECT_NE(message.find("no space 'grouped_gem'; nearest known: grouped_gemm"), std::string::npos) << message;
  EXPECT_THROW(load_space("./no/such/space.json"), Error);
}

TEST(Enumerate, NestedLoopOrderAndFirstFailingConstraint) {
  const Space space = parse_space(small_space(), "here.json");
  const Enumeration all = enumerate(space, {{"limit", 3}});
  std::vector<std::string> keys;
  for (const Config& config : all.candidates) keys.push_back(key_of(config));
  EXPECT_EQ(keys, (std::vector<std::string>{"a=1,b=10", "a=1,b=20", "a=2,b=10"}));
  ASSERT_EQ(all.dropped.size(), 2u);
  EXPECT_EQ(all.dropped[0].constraint, "a below limit");
  EXPECT_EQ(all.dropped[0].count, 2);  // (3,10) and (3,20); the latter fails both and counts once
  EXPECT_EQ(all.dropped[1].count, 1);  // (2,20)
  EXPECT_EQ(all.dropped[1].outcome, Outcome::resources);
}

TEST(Enumerate, FaultsNameSpaceAndConstraint) {
  const Space space = parse_space(small_space(), "here.json");
  const std::string message = fault_of([&] { enumerate(space, {{"limits", 3}}); });
  EXPECT_EQ(message.find("space 'small', constraint 'a below limit': "), 0u) << message;
  EXPECT_NE(message.find("unknown variable 'limit'; nearest known: limits"), std::string::npos) << message;
  EXPECT_NE(fault_of([&] { enumerate(space, {{"limit", 3}, {"a", 1}}); }).find("parameter 'a'"), std::string::npos);
}

}  // namespace
}  // namespace moetune
