#include "results/journal_files.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "base/temp_folder.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

Workload mixtral() {
  Workload w;
  w.model = "mixtral-8x7b";
  w.experts = 8;
  w.topk = 2;
  w.hidden = 4096;
  w.intermediate = 14336;
  w.tp = 2;
  return w;
}

// Runs in a folder with results/NVIDIA_H200/journals, and puts the process back.
class FindJournalTest : public testing::Test {
 protected:
  TempFolder folder;
  fs::path before = fs::current_path();
  fs::path journals = fs::path("results") / "NVIDIA_H200" / "journals";

  void SetUp() override {
    unsetenv("MOETUNE_RESULTS_DIR");
    fs::current_path(folder.path());
  }
  void TearDown() override {
    unsetenv("MOETUNE_RESULTS_DIR");
    fs::current_path(before);
  }
  static fs::path touch(const fs::path& path) {
    write_file_atomically(path, "{}\n");
    return path;
  }
  static std::string message(const std::string& spec) {
    try {
      find_journal(spec, mixtral());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return error.what();
    }
    return "no error";
  }
};

TEST_F(FindJournalTest, FileNames) { EXPECT_EQ(journal_file_name(mixtral()), "mixtral-8x7b-bf16-tp2.native.jsonl"); }

TEST_F(FindJournalTest, ByDeviceNameCompressedFirst) {
  const fs::path plain = touch(journals / "mixtral-8x7b-bf16-tp2.native.jsonl");
  EXPECT_EQ(find_journal("replay:NVIDIA_H200", mixtral()), plain);
  const fs::path compressed = touch(journals / "mixtral-8x7b-bf16-tp2.native.jsonl.gz");
  EXPECT_EQ(find_journal("NVIDIA_H200", mixtral()), compressed);
}

TEST_F(FindJournalTest, InTheFolderOfTheEnvironment) {
  const fs::path path = touch(fs::path("elsewhere") / "NVIDIA_B200" / "journals" / journal_file_name(mixtral()));
  setenv("MOETUNE_RESULTS_DIR", "elsewhere", 1);
  EXPECT_EQ(find_journal("replay:NVIDIA_B200", mixtral()), path);
  EXPECT_EQ(results_folders().size(), 3u);
}

TEST_F(FindJournalTest, ByPath) {
  const fs::path file = touch("mine/a.jsonl");
  EXPECT_EQ(find_journal("replay:mine/a.jsonl", mixtral()), file);
  const fs::path flat = touch(fs::path("mine") / journal_file_name(mixtral()));
  EXPECT_EQ(find_journal("replay:mine", mixtral()), flat);
  const fs::path nested = touch(fs::path("mine/sub/journals") / journal_file_name(mixtral()));
  EXPECT_EQ(find_journal("replay:./mine/sub", mixtral()), "./" + nested.string());
}

TEST_F(FindJournalTest, SaysWhereItLookedAndWhatIsThere) {
  touch(journals / "kimi-k2-fp8_w8a8-tp4.native.jsonl.gz");
  touch(journals / "kimi-k2-fp8_w8a8-tp8.native.jsonl");
  const std::string text = message("replay:NVIDIA_H200");
  EXPECT_NE(text.find((journals / "mixtral-8x7b-bf16-tp2.native.jsonl.gz").string()), std::string::npos) << text;
  EXPECT_NE(text.find("share/moetune/results"), std::string::npos) << text;
  EXPECT_NE(text.find("kimi-k2-fp8_w8a8-tp4, kimi-k2-fp8_w8a8-tp8"), std::string::npos) << text;

  const std::string other = message("replay:NVIDIA_H300");
  EXPECT_NE(other.find("NVIDIA_H200 (kimi-k2-fp8_w8a8-tp4, kimi-k2-fp8_w8a8-tp8)"), std::string::npos) << other;
  EXPECT_NE(message("replay:no/such").find("does not exist"), std::string::npos);
  EXPECT_NE(message("replay:").find("needs a device name"), std::string::npos);
}

TEST_F(FindJournalTest, ListsRecordedDevices) {
  touch(journals / "b.native.jsonl.gz");
  touch(journals / "a.native.jsonl");
  touch("results/NVIDIA_B200/E=1.json");
  const std::vector<RecordedDevice> devices = recorded_devices();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].name, "NVIDIA_H200");
  EXPECT_EQ(devices[0].workloads, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace moetune
