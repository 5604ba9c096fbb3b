#include "results/journal.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <fstream>
#include <functional>

#include "base/error.h"
#include "base/files.h"
#include "base/temp_folder.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

const Json kHeader = {{"format", "moetune.journal/1"}, {"seed", 3}};

Json event(int number) {
  Json json = Json::object();
  json["note"] = number;
  return json;
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

void append_raw(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::app) << text; }

class JournalTest : public testing::Test {
 protected:
  TempFolder folder;
  fs::path path = folder.path() / "sub" / "a.jsonl";

  void write_two_events() {
    JournalWriter writer(path, kHeader, false);
    writer.append(event(1));
    writer.append(event(2));
  }
};

TEST_F(JournalTest, ReadsWhatWasAppended) {
  write_two_events();
  const Journal journal = read_journal(path);
  EXPECT_EQ(journal.header, kHeader);
  EXPECT_EQ(journal.events, (std::vector<Json>{event(1), event(2)}));
  EXPECT_FALSE(journal.torn);
}

TEST_F(JournalTest, EventsAreInTheFileBeforeTheWriterEnds) {
  JournalWriter writer(path, kHeader, false);
  writer.append(event(1));
  EXPECT_EQ(read_journal(path).events.size(), 1u);
}

TEST_F(JournalTest, DoublesKeepTheirValue) {
  const std::vector<double> samples = {0.1, 28.347, 1.0 / 3.0, 5e-324, 12345678.901};
  {
    JournalWriter writer(path, kHeader, false);
    writer.append({{"samples", samples}});
  }
  EXPECT_EQ(read_journal(path).events[0]["samples"].get<std::vector<double>>(), samples);
}

TEST_F(JournalTest, BytesThatAreNoUtf8DoNotCostTheRun) {
  JournalWriter writer(path, kHeader, false);
  writer.append({{"log", "a\xff\nb"}});
  EXPECT_EQ(read_journal(path).events[0]["log"], "a\xef\xbf\xbd\nb");
}

TEST_F(JournalTest, IgnoresATornLastLine) {
  write_two_events();
  for (const char* torn : {"{\"note\":", "{\"note\":3}}\n"}) {
    append_raw(path, torn);
    const Journal journal = read_journal(path);
    EXPECT_TRUE(journal.torn);
    EXPECT_EQ(journal.events.size(), 2u);
    fs::resize_file(path, fs::file_size(path) - std::string(torn).size());
  }
}

TEST_F(JournalTest, AHeaderCutInTheMiddleIsNothingToGoOnFrom) {
  const fs::path cut = folder.path() / "cut.jsonl";
  append_raw(cut, R"({"format":"moetune.jour)");
  EXPECT_FALSE(has_whole_header(cut));
  append_raw(cut, "\n");
  EXPECT_TRUE(has_whole_header(cut));
}

TEST_F(JournalTest, RefusesABrokenLineInTheMiddle) {
  write_two_events();
  append_raw(path, "{\"note\":\n{\"note\":4}\n");
  const std::string message = message_of([&] { read_journal(path); });
  EXPECT_NE(message.find("line 4"), std::string::npos) << message;
  EXPECT_NE(message.find(path.string()), std::string::npos) << message;
}

TEST_F(JournalTest, RefusesOtherFilesAndMissingOnes) {
  EXPECT_NE(message_of([&] { read_journal(path); }).find(path.string()), std::string::npos);
  write_file_atomically(path, "");
  EXPECT_NE(message_of([&] { read_journal(path); }).find("no header"), std::string::npos);
  write_file_atomically(path, "{\"format\":\"moetune.journal/9\"}\n");
  EXPECT_NE(message_of([&] { read_journal(path); }).find("moetune.journal/9"), std::string::npos);
}

TEST_F(JournalTest, ContinuesAndCutsOffATornLine) {
  write_two_events();
  append_raw(path, "{\"note\":3");
  {
    JournalWriter writer(path, {{"format", "another"}}, true);
    writer.append(event(4));
  }
  const Journal journal = read_journal(path);
  EXPECT_EQ(journal.header, kHeader);
  EXPECT_EQ(journal.events, (std::vector<Json>{event(1), event(2), event(4)}));
  EXPECT_FALSE(journal.torn);
}

TEST_F(JournalTest, ContinuesAfterALastLineWithoutNewline) {
  write_two_events();
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_EQ(read_journal(path).events.size(), 2u);
  {
    JournalWriter writer(path, kHeader, true);
    writer.append(event(3));
  }
  EXPECT_EQ(read_journal(path).events, (std::vector<Json>{event(1), event(2), event(3)}));
}

TEST_F(JournalTest, ContinuingStartsANewJournalWhereThereIsNone) {
  { JournalWriter writer(path, kHeader, true); }
  EXPECT_EQ(read_journal(path).header, kHeader);
  write_file_atomically(path, "{\"format\":\"moet");
  { JournalWriter writer(path, kHeader, true); }
  EXPECT_EQ(read_journal(path).header, kHeader);
}

TEST_F(JournalTest, ANewJournalKeepsTheOldOneAside) {
  write_two_events();
  { JournalWriter writer(path, kHeader, false); }
  EXPECT_EQ(read_journal(path).events.size(), 0u);
  EXPECT_EQ(read_journal(path.string() + ".bak").events.size(), 2u);
}

TEST_F(JournalTest, RefusesASecondWriter) {
  JournalWriter writer(path, kHeader, false);
  const std::string message = message_of([&] { JournalWriter second(path, kHeader, true); });
  EXPECT_NE(message.find("another process"), std::string::npos) << message;
  writer.append(event(1));
  EXPECT_EQ(read_journal(path).events.size(), 1u);
}

TEST_F(JournalTest, ReadsCompressedJournalsAndDoesNotWriteThem) {
  write_two_events();
  const std::string content = read_file(path);
  const fs::path compressed = path.string() + ".gz";
  gzFile file = gzopen(compressed.c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  EXPECT_EQ(read_journal(compressed).events.size(), 2u);
  const std::string message = message_of([&] { JournalWriter writer(compressed, kHeader, true); });
  EXPECT_NE(message.find("compressed"), std::string::npos) << message;
  EXPECT_EQ(read_journal(compressed).events.size(), 2u);
}

TEST(Journal, NamesTheFileWhenTheDiskIsFull) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  const std::string message = message_of([] { JournalWriter writer("/dev/full", kHeader, false); });
  EXPECT_NE(message.find("/dev/full"), std::string::npos) << message;
  EXPECT_NE(message.find("No space left"), std::string::npos) << message;
}

}  // namespace
}  // namespace moetune
