#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/error.h"

namespace moetune {
namespace {

using namespace std::chrono_literals;

ChildProcess shell(const std::string& script) { return ChildProcess({"/bin/sh", "-c", script}); }

}  // namespace

TEST(Process, SpeaksInLines) {
  ChildProcess cat = shell("exec cat");
  ASSERT_TRUE(cat.write_line("first"));
  ASSERT_TRUE(cat.write_line("second"));
  EXPECT_EQ(cat.read_line(5s).line, "first");
  EXPECT_EQ(cat.read_line(5s).line, "second");
  const std::string wide(300000, 'x');
  ChildProcess script = shell("read line; echo \"got $line\"; head -c 300000 /dev/zero | tr '\\0' x; echo");
  ASSERT_TRUE(script.write_line("a line"));
  EXPECT_EQ(script.read_line(5s).line, "got a line");
  EXPECT_EQ(script.read_line(5s).line, wide);
}

TEST(Process, ASilentChildTimesOutAndKeepsItsHalfLine) {
  ChildProcess child = shell("printf half; read line; echo ' done'; read line");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(child.read_line(60ms).status, ReadStatus::timeout);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 60ms);
  ASSERT_TRUE(child.write_line(""));
  const ReadResult result = child.read_line(5s);
  EXPECT_EQ(result.status, ReadStatus::line);
  EXPECT_EQ(result.line, "half done");
}

TEST(Process, TellsThatTheChildIsGone) {
  ChildProcess child = shell("echo last; exit 7");
  EXPECT_EQ(child.read_line(5s).line, "last");
  EXPECT_EQ(child.read_line(5s).status, ReadStatus::closed);
  // The kernel closes the ends of a dying process one after the other.
  bool written = true;
  for (int i = 0; i < 200 && written; ++i) {
    written = child.write_line("anyone?");
    usleep(5000);
  }
  EXPECT_FALSE(written) << "and no SIGPIPE ended this test";
  EXPECT_EQ(child.kill_and_describe(), "exit 7");
  EXPECT_EQ(child.kill_and_describe(), "not running");
}

TEST(Process, DescribesASignal) {
  ChildProcess child = shell("kill -SEGV $$");
  EXPECT_EQ(child.read_line(5s).status, ReadStatus::closed);
  EXPECT_EQ(child.kill_and_describe(), "signal 11 (Segmentation fault)");
}

TEST(Process, KillsAHungChildAndWhatItStarted) {
  ChildProcess child = shell("sleep 100 & echo $!; wait");
  const pid_t grandchild = std::stoi(child.read_line(5s).line);
  EXPECT_EQ(child.kill_and_describe(), "signal 9 (Killed)");
  // A process file system entry stays until somebody reaps the grandchild; its kill is what counts.
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i) {
    gone = kill(grandchild, 0) != 0;
    if (!gone) {
      FILE* stat = fopen(("/proc/" + std::to_string(grandchild) + "/stat").c_str(), "r");
      char state = 'X';
      if (stat != nullptr) {
        if (fscanf(stat, "%*d %*s %c", &state) != 1) state = 'X';
        fclose(stat);
      }
      gone = state == 'Z' || state == 'X';
    }
    usleep(5000);
  }
  EXPECT_TRUE(gone);
}

TEST(Process, TheDestructorEndsTheChild) {
  pid_t pid = 0;
  {
    ChildProcess child = shell("sleep 100");
    ChildProcess moved = std::move(child);
    pid = moved.pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_NE(kill(pid, 0), 0);
}

TEST(Process, ChildrenGetNoOtherDescriptors) {
  const std::string list = "ls /proc/self/fd | tr '\\n' ' '; echo";
  const std::string before = shell(list).read_line(5s).line;
  ChildProcess first = shell("exec cat");
  EXPECT_EQ(shell(list).read_line(5s).line, before);
}

TEST(Process, AProgramThatDoesNotExistIsAnError) {
  try {
    ChildProcess child({"/no/such/program"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::internal);
    EXPECT_STREQ(error.what(), "cannot start /no/such/program: No such file or directory");
  }
}

TEST(Process, KnowsItsOwnExecutable) { EXPECT_EQ(access(own_executable().c_str(), X_OK), 0); }

}  // namespace moetune
