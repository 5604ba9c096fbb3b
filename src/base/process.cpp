#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

extern char** environ;

namespace moetune {
namespace {

using Clock = std::chrono::steady_clock;

std::string reason(int error) { return std::generic_category().message(error); }

void close_quietly(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

struct Pipes {
  int child_in = -1, to_child = -1;
  int from_child = -1, child_out = -1;

  // The writing side is a socket because only sockets can write without SIGPIPE (MSG_NOSIGNAL).
  int open() {
    int in[2], out[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) return errno;
    child_in = in[0], to_child = in[1];
    if (::pipe2(out, O_CLOEXEC) != 0) return errno;
    from_child = out[0], child_out = out[1];
    return 0;
  }
  ~Pipes() {
    for (int* fd : {&child_in, &to_child, &from_child, &child_out}) close_quietly(*fd);
  }
};

// 0, or the error number of the failed start.
int spawn(const std::vector<std::string>& argv, const Pipes& pipes, pid_t* pid) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipes.child_in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipes.child_out, STDOUT_FILENO);

  // Its own process group: Ctrl-C reaches the parent only, which ends its children in order, and killing the group
  // ends what a child has started too.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  const int error = ::posix_spawn(pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string describe_end(int status) {
  if (WIFEXITED(status)) return "exit " + std::to_string(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const char* text = ::sigdescr_np(signal);
  return "signal " + std::to_string(signal) + (text != nullptr ? std::string(" (") + text + ")" : "");
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

bool hung_up(int fd) {
  pollfd poll_fd{fd, 0, 0};
  return ::poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & POLLHUP) != 0;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& argv) {
  if (argv.empty()) throw Error(ExitCode::internal, "cannot start a process: no program given");
  Pipes pipes;
  int error = pipes.open();
  if (error == 0) error = spawn(argv, pipes, &pid_);
  if (error != 0) throw Error(ExitCode::internal, "cannot start " + argv[0] + ": " + reason(error));
  to_child_ = std::exchange(pipes.to_child, -1);
  from_child_ = std::exchange(pipes.from_child, -1);
}

ChildProcess::~ChildProcess() { close_all(); }

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      to_child_(std::exchange(other.to_child_, -1)),
      from_child_(std::exchange(other.from_child_, -1)),
      buffer_(std::move(other.buffer_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    close_all();
    pid_ = std::exchange(other.pid_, -1);
    to_child_ = std::exchange(other.to_child_, -1);
    from_child_ = std::exchange(other.from_child_, -1);
    buffer_ = std::move(other.buffer_);
  }
  return *this;
}

bool ChildProcess::write_line(const std::string& line) {
  const std::string text = line + "\n";
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t put = ::send(to_child_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (put >= 0) {
      sent += static_cast<std::size_t>(put);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

ReadResult ChildProcess::read_line(std::chrono::milliseconds deadline) {
  const Clock::time_point until = Clock::now() + deadline;
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      ReadResult result{ReadStatus::line, buffer_.substr(0, end)};
      buffer_.erase(0, end + 1);
      return result;
    }
    searched = buffer_.size();
    if (from_child_ < 0) return {ReadStatus::closed, {}};

    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd poll_fd{from_child_, POLLIN, 0};
    const int ready = ::poll(&poll_fd, 1, static_cast<int>(std::clamp<long long>(left, 0, 1 << 30)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return {ReadStatus::closed, {}};
    if (ready == 0) {
      if (Clock::now() < until) continue;
      return {ReadStatus::timeout, {}};
    }
    char block[1 << 14];
    const ssize_t got = ::read(from_child_, block, sizeof(block));
    if (got > 0) {
      buffer_.append(block, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return {ReadStatus::closed, {}};
    }
  }
}

std::string ChildProcess::kill_and_describe() {
  if (pid_ < 0) return "not running";
  // A child whose output is closed is mostly on its way out: its own end says more than our signal would.
  for (int i = 0; i < 50 && !has_ended(pid_) && hung_up(from_child_); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
  ::kill(-pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  close_quietly(to_child_);
  close_quietly(from_child_);
  return describe_end(status);
}

void ChildProcess::close_all() {
  if (pid_ >= 0) kill_and_describe();
  close_quietly(to_child_);
  close_quietly(from_child_);
}

std::string own_executable() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error(ExitCode::internal, "cannot find the running binary: /proc/self/exe: " + error.message());
  return path.string();
}

}  // namespace moetune
