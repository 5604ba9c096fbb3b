#include "results/record.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "base/temp_folder.h"

namespace moetune {
namespace {

TEST(Record, TextIsReadableAndReadsBack) {
  const Json record = {{"format", kRecordFormat},
                       {"tokens", {{"1", {{"time_us", {{"median", 1.5}, {"cv", 0.01}}}, {"list", {1, 2}}}}}},
                       {"empty", Json::object()},
                       {"none", nullptr}};
  const std::string text = record_text(record);
  EXPECT_EQ(Json::parse(text), record);
  EXPECT_NE(text.find("      \"time_us\": {\"median\": 1.5, \"cv\": 0.01}"), std::string::npos) << text;
  EXPECT_EQ(text.substr(text.size() - 2), "}\n");

  const TempFolder folder;
  write_file_atomically(folder.path() / "a.record.json", text);
  EXPECT_EQ(read_record(folder.path() / "a.record.json"), record);
  write_file_atomically(folder.path() / "b.record.json", "{\"format\": \"moetune.bench/1\"}");
  EXPECT_THROW(read_record(folder.path() / "b.record.json"), Error);
}

TEST(Record, Rounds) {
  EXPECT_EQ(rounded(1.23456, 3), 1.235);
  EXPECT_EQ(rounded(NAN, 3), Json());
  EXPECT_EQ(rounded(INFINITY, 3), Json());
}

}  // namespace
}  // namespace moetune
