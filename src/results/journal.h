// The journal: append-only JSON Lines. Line 1 is the header, every other line one event, flushed before the next
// starts. A torn last line is ignored. Paths ending in ".gz" are read compressed (written plain only).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace moetune {

struct Journal {
  Json header;
  std::vector<Json> events;
  bool torn = false;  // the last line was incomplete and dropped
};

// Error(usage): missing file, no header, a wrong "format" ("moetune.journal/1"), a broken line that is not the last.
Journal read_journal(const std::filesystem::path& path);

// Whether the file has at least one whole line: a run that was killed inside its first left nothing to go on from.
bool has_whole_header(const std::filesystem::path& path);

class JournalWriter {
 public:
  // Starts a new journal with `header`, or continues an existing file (a torn last line is cut off first; without an
  // existing file, or with one that holds no whole header, a new one starts). A journal that a new one replaces is kept
  // as PATH.bak. Error(usage): a path ending in ".gz", a folder that cannot be written, another process that writes it.
  JournalWriter(const std::filesystem::path& path, const Json& header, bool continue_existing);
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  // One line, handed to the system before it returns. Error(usage) naming the file when the disk is full; the part
  // written so far stays whole.
  void append(const Json& event);

 private:
  explicit JournalWriter(const std::filesystem::path& path);
  void continue_after(std::string_view content);

  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace moetune
