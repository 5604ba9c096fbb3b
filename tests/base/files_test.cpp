#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <functional>
#include <iterator>

#include "base/error.h"
#include "base/temp_folder.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no error";
}

int entries_in(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

void write_gzip(const fs::path& path, const std::string& content) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
}

}  // namespace

TEST(Files, WritesAndReadsBytes) {
  const TempFolder folder;
  const fs::path path = folder.path() / "new" / "folders" / "file";
  const std::string content("a\0b\nc", 5);
  write_file_atomically(path, content);
  EXPECT_EQ(read_file(path), content);
  write_file_atomically(path, "");
  EXPECT_EQ(read_file(path), "");
  EXPECT_EQ(entries_in(path.parent_path()), 1);
}

TEST(Files, FollowsTheUmask) {
  const TempFolder folder;
  const mode_t old = umask(027);
  write_file_atomically(folder.path() / "file", "x");
  umask(old);
  struct stat info {};
  ASSERT_EQ(stat((folder.path() / "file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(Files, AFailedWriteKeepsTheOldFileAndLeavesNoTemporary) {
  const TempFolder folder;
  const fs::path path = folder.path() / "file";
  write_file_atomically(path, "old");
  // A file size limit stands for a full disk.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of([&] { write_file_atomically(path, std::string(1000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error, "cannot write " + path.string() + ": File too large");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries_in(folder.path()), 1);
}

TEST(Files, AFolderIsNotReplaced) {
  const TempFolder folder;
  const fs::path path = folder.path() / "taken";
  fs::create_directories(path / "content");
  EXPECT_NE(error_of([&] { write_file_atomically(path, "x"); }).find("taken: Is a directory"), std::string::npos);
  EXPECT_TRUE(fs::exists(path / "content"));
  EXPECT_EQ(entries_in(folder.path()), 1);
}

TEST(Files, AParentThatIsAFileIsNamedInTheError) {
  const TempFolder folder;
  write_file_atomically(folder.path() / "file", "old");
  const std::string error = error_of([&] { write_file_atomically(folder.path() / "file" / "below", "x"); });
  EXPECT_NE(error.find((folder.path() / "file").string() + ": Not a directory"), std::string::npos) << error;
  EXPECT_EQ(read_file(folder.path() / "file"), "old");
}

TEST(Files, ADeviceIsWrittenAndNotReplaced) {
  write_file_atomically("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_NE(error_of([] { write_file_atomically("/dev/full", "x"); }).find("/dev/full: No space left"),
            std::string::npos);
}

TEST(Files, ALinkStaysALink) {
  const TempFolder folder;
  write_file_atomically(folder.path() / "real", "old");
  fs::create_symlink("real", folder.path() / "link");
  write_file_atomically(folder.path() / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
  EXPECT_EQ(read_file(folder.path() / "real"), "new");
}

TEST(Files, ReadsGzip) {
  const TempFolder folder;
  std::string content;
  for (int i = 0; i < 50000; ++i) content += std::to_string(i * 7919);
  write_gzip(folder.path() / "file.json.gz", content);
  EXPECT_EQ(read_file(folder.path() / "file.json.gz"), content);
}

TEST(Files, ACutOffGzipIsAnError) {
  const TempFolder folder;
  const fs::path path = folder.path() / "file.gz";
  std::string content;
  for (int i = 0; i < 50000; ++i) content += std::to_string(i * 7919);
  write_gzip(path, content);
  fs::resize_file(path, fs::file_size(path) - 100);
  EXPECT_NE(error_of([&] { read_file(path); }).find(path.string() + ": "), std::string::npos);
}

TEST(Files, AMissingFileIsNamed) {
  EXPECT_EQ(error_of([] { read_file("/no/such/file"); }), "cannot read /no/such/file: No such file or directory");
  EXPECT_EQ(error_of([] { read_file("/no/such.gz"); }), "cannot read /no/such.gz: No such file or directory");
}

}  // namespace moetune
