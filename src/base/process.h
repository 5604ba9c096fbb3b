// A child process that speaks JSON lines over its standard input and output.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace moetune {

enum class ReadStatus { line, timeout, closed };

struct ReadResult {
  ReadStatus status = ReadStatus::closed;
  std::string line;  // without the newline
};

// Owns the child: the destructor kills it and reaps it. The child's standard error is the parent's.
class ChildProcess {
 public:
  // Starts `argv` (argv[0] is the program's path). Throws Error(internal) when it cannot start.
  explicit ChildProcess(const std::vector<std::string>& argv);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Writes `line` and a newline; false when the child no longer reads.
  bool write_line(const std::string& line);

  // The next whole line, waiting at most `deadline`.
  ReadResult read_line(std::chrono::milliseconds deadline);

  // Kills and reaps the child; says how it had ended ("exit 1", "signal 11 (Segmentation fault)").
  std::string kill_and_describe();

  int read_fd() const { return from_child_; }
  pid_t pid() const { return pid_; }

 private:
  void close_all();

  pid_t pid_ = -1;
  int to_child_ = -1;
  int from_child_ = -1;
  std::string buffer_;
};

// Path of the running binary, for starting workers of itself.
std::string own_executable();

}  // namespace moetune
