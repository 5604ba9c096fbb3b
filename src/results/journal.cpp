#include "results/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "moetune.journal/1";

[[noreturn]] void fail(const fs::path& path, const std::string& reason) {
  throw Error(ExitCode::usage, "journal " + path.string() + ": " + reason);
}

[[noreturn]] void fail(const char* what, const fs::path& path, int error) {
  fail(path, std::string("cannot ") + what + ": " + std::generic_category().message(error));
}

// Splits off the first line; `whole` says whether it ended in a newline.
std::string_view take_line(std::string_view& text, bool& whole) {
  const std::size_t end = text.find('\n');
  whole = end != std::string_view::npos;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(whole ? end + 1 : text.size());
  return line;
}

Json parse_line(std::string_view line) { return Json::parse(line.begin(), line.end(), nullptr, false); }

std::string line_of(const Json& json) {
  // Compiler logs may hold bytes that are not UTF-8; they must not cost the run.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Bytes of `content` without a torn last line.
std::size_t whole_length(std::string_view content) {
  if (content.empty()) return 0;
  const std::size_t before = content.substr(0, content.size() - 1).rfind('\n');
  const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
  return Json::accept(content.begin() + start, content.end()) ? content.size() : start;
}

// 0, or the error number.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put >= 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

int open_locked(const fs::path& path) {
  if (path.extension() == ".gz") fail(path, "compressed journals can be read only; unpack it to continue it");
  if (path.has_parent_path()) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) fail("create the folder of", path, error.value());
  }
  const int fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) fail("write", path, errno);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(fd);
    fail(path, "another process is writing it; wait for it to end, or use another --save-dir");
  }
  return fd;
}

// PATH.bak, or PATH.bak.2 and so on when that is taken.
fs::path free_backup_name(const fs::path& path) {
  fs::path backup = path;
  backup += ".bak";
  for (int number = 2; fs::exists(backup); ++number) {
    backup = path;
    backup += ".bak." + std::to_string(number);
  }
  return backup;
}

}  // namespace

bool has_whole_header(const fs::path& path) { return read_file(path).find('\n') != std::string::npos; }

Journal read_journal(const fs::path& path) {
  const std::string content = read_file(path);
  Journal journal;
  journal.events.reserve(static_cast<std::size_t>(std::count(content.begin(), content.end(), '\n')));
  std::string_view rest = content;
  for (int number = 1; !rest.empty(); ++number) {
    bool whole = false;
    const std::string_view line = take_line(rest, whole);
    Json json = parse_line(line);
    if (!json.is_object()) {
      if (!rest.empty()) fail(path, "line " + std::to_string(number) + " is broken; restore the file or delete it");
      journal.torn = true;
    } else if (number == 1) {
      journal.header = std::move(json);
    } else {
      journal.events.push_back(std::move(json));
    }
  }
  if (!journal.header.is_object()) fail(path, "it has no header line");
  const Json format = journal.header.value("format", Json());
  if (format != kFormat) {
    fail(path, std::string("its \"format\" is ") + format.dump() + ", expected \"" + kFormat + "\"");
  }
  return journal;
}

// The delegated constructor is done before anything can throw, so that the destructor closes the file.
JournalWriter::JournalWriter(const fs::path& path) : path_(path), file_(open_locked(path)) {}

JournalWriter::JournalWriter(const fs::path& path, const Json& header, bool continue_existing) : JournalWriter(path) {
  struct stat status {};
  ::fstat(file_, &status);
  std::string content;
  if (status.st_size > 0 && continue_existing) content = read_file(path);
  const std::size_t keep = whole_length(content);
  if (keep > 0) {
    continue_after(std::string_view(content).substr(0, keep));
    return;
  }
  if (status.st_size > 0) {
    // Hours of GPU time may be in it.
    const fs::path backup = free_backup_name(path);
    if (::rename(path.c_str(), backup.c_str()) != 0) fail("rename", path, errno);
    ::close(std::exchange(file_, -1));
    file_ = open_locked(path);
  }
  append(header);
}

void JournalWriter::continue_after(std::string_view content) {
  if (::ftruncate(file_, static_cast<off_t>(content.size())) != 0) fail("cut off the torn last line", path_, errno);
  if (content.back() == '\n') return;
  if (const int error = write_all(file_, "\n")) fail("append", path_, error);
}

JournalWriter::~JournalWriter() {
  if (file_ < 0) return;
  ::fdatasync(file_);
  ::close(file_);
}

void JournalWriter::append(const Json& event) {
  struct stat before {};
  ::fstat(file_, &before);
  const int error = write_all(file_, line_of(event));
  if (error == 0) return;
  // Without the torn end the file is still whole; when even this fails, readers ignore a torn last line.
  if (S_ISREG(before.st_mode) && ::ftruncate(file_, before.st_size) != 0) errno = 0;
  fail("append", path_, error);
}

}  // namespace moetune
