#include "jit/compile_pool.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/text.h"
#include "jit/jit_folders.h"
#include "jit/nvrtc.h"

namespace moetune {
namespace {

using namespace std::chrono_literals;

// A worker that writes the expression of each request to LOG and acts by it: "die" kills it, "hang" never answers,
// "babble" is no JSON, "slow" takes a while, "last" is answered before the worker leaves; others are compiled at once.
class FakeWorker {
 public:
  std::vector<std::string> command() const {
    return {"/bin/sh", "-c", R"(while read -r line; do
  expression=${line#*\"expression\":\"}; expression=${expression%%\"*}
  echo "$expression" >> "$0"
  case $expression in
    die) kill -SEGV $$ ;;
    hang) sleep 100 ;;
    babble) echo "ld.so: hello" ; continue ;;
    slow) sleep 0.2 ;;
  esac
  echo "{\"ok\":true,\"timed_out\":false,\"cubin_path\":\"/c/$expression\",\"entry\":\"e\",\"registers\":1,\
\"spill_bytes\":2,\"static_shared_bytes\":3,\"seconds\":0.5,\"cached\":false,\"log\":\"\"}"
  case $expression in last) exit 0 ;; esac
done)",
            log().string()};
  }
  std::filesystem::path log() const { return folder_.path() / "log"; }
  void wait_for_a_request() const {
    while (!std::filesystem::exists(log())) std::this_thread::sleep_for(1ms);
  }
  std::string seen() const { return join(split(read_file(log()), '\n'), " "); }

 private:
  TempFolder folder_;
};

KernelSource kernel(const std::string& expression) { return {"kernels/a.cu", expression}; }

}  // namespace

TEST(CompilePool, AnswersWhatTheWorkerSays) {
  const FakeWorker worker;
  CompilePool pool("sm_80", 1, 10s, worker.command());
  const CompileResult result = pool.wait(kernel("one"));
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.cubin_path, "/c/one");
  EXPECT_EQ(result.spill_bytes, 2);
  EXPECT_EQ(pool.compiled(), 1);
  EXPECT_DOUBLE_EQ(pool.busy_seconds(), 0.5);
}

TEST(CompilePool, ADeadWorkerCostsItsKernelOnly) {
  const FakeWorker worker;
  CompilePool pool("sm_80", 1, 10s, worker.command());
  pool.submit({kernel("one"), kernel("die"), kernel("two")});
  EXPECT_TRUE(pool.wait(kernel("one")).ok);
  const CompileResult died = pool.wait(kernel("die"));
  EXPECT_FALSE(died.ok);
  EXPECT_FALSE(died.timed_out);
  EXPECT_EQ(died.log, "compile worker ended: signal 11 (Segmentation fault)");
  EXPECT_TRUE(pool.wait(kernel("two")).ok);
}

TEST(CompilePool, AHungWorkerIsATimeout) {
  const FakeWorker worker;
  CompilePool pool("sm_80", 1, 150ms, worker.command());
  pool.submit({kernel("hang"), kernel("two")});
  const CompileResult hung = pool.wait(kernel("hang"));
  EXPECT_FALSE(hung.ok);
  EXPECT_TRUE(hung.timed_out);
  EXPECT_GE(hung.seconds, 0.15);
  EXPECT_TRUE(pool.wait(kernel("two")).ok);
}

TEST(CompilePool, AnAnswerThatIsNoResultIsAFailure) {
  const FakeWorker worker;
  CompilePool pool("sm_80", 1, 10s, worker.command());
  const CompileResult result = pool.wait(kernel("babble"));
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.log.find("ld.so: hello"), std::string::npos) << result.log;
  EXPECT_TRUE(pool.wait(kernel("two")).ok);
}

TEST(CompilePool, AWorkerThatLeftWhileIdleIsStartedAgain) {
  const FakeWorker worker;
  CompilePool pool("sm_80", 1, 10s, worker.command());
  EXPECT_TRUE(pool.wait(kernel("last")).ok);
  std::this_thread::sleep_for(100ms);
  EXPECT_TRUE(pool.wait(kernel("two")).ok);
}

TEST(CompilePool, KeepsTheOrderButWhatIsWaitedForGoesFirst) {
  const FakeWorker worker;
  CompilePool pool("sm_80", 1, 10s, worker.command());
  pool.submit({kernel("slow")});
  worker.wait_for_a_request();
  pool.submit({kernel("b"), kernel("c"), kernel("d"), kernel("b")});
  pool.wait(kernel("d"));
  pool.wait(kernel("c"));
  EXPECT_EQ(worker.seen(), "slow d b c ");
  EXPECT_EQ(pool.compiled(), 4);
}

TEST(CompilePool, WorkersWorkSideBySide) {
  const FakeWorker worker;
  CompilePool pool("sm_80", 2, 10s, worker.command());
  pool.submit({kernel("hang"), kernel("two")});
  EXPECT_TRUE(pool.wait(kernel("two")).ok);
}

TEST(CompilePool, EndsAtOnceWithKernelsUnderWay) {
  const FakeWorker worker;
  const auto start = std::chrono::steady_clock::now();
  {
    CompilePool pool("sm_80", 1, 100s, worker.command());
    pool.submit({kernel("hang"), kernel("two")});
    worker.wait_for_a_request();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST(CompilePool, AWorkerThatCannotStartIsInTheLog) {
  CompilePool pool("sm_80", 1, 1s, {"/no/such/worker"});
  const CompileResult result = pool.wait(kernel("one"));
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.log.find("/no/such/worker"), std::string::npos);
}

TEST(CompilePool, CompilesInWorkersOfThisBinary) {
  if (!find_nvrtc()) GTEST_SKIP() << "no NVRTC on this machine";
  const JitFolders folders;
  CompilePool pool("sm_80", 2);
  const KernelSource good{"kernels/moe/scale.cu", "moetune::scale<64>"};
  const KernelSource bad{"kernels/moe/scale.cu", "moetune::scale<-1>"};
  pool.submit({good, bad, {"kernels/none.cu", "none"}});
  const CompileResult result = pool.wait(good);
  ASSERT_TRUE(result.ok) << result.log;
  EXPECT_TRUE(std::filesystem::exists(result.cubin_path));
  EXPECT_FALSE(pool.wait(bad).ok);
  EXPECT_NE(pool.wait({"kernels/none.cu", "none"}).log.find("kernels/none.cu"), std::string::npos);
  CompilePool later("sm_80", 1);
  EXPECT_TRUE(later.wait(good).cached);
  EXPECT_EQ(later.compiled(), 0);
}

TEST(CompilePool, AMissingNvrtcIsInTheAnswer) {
  const JitFolders folders;
  setenv("MOETUNE_NVRTC", "/no/such/libnvrtc.so", 1);
  CompilePool pool("sm_80", 1);
  const CompileResult result = pool.wait({"kernels/moe/scale.cu", "moetune::scale<64>"});
  unsetenv("MOETUNE_NVRTC");
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.log.find("/no/such/libnvrtc.so"), std::string::npos) << result.log;
  EXPECT_NE(result.log.find("nvidia-cuda-nvrtc"), std::string::npos) << result.log;
}

}  // namespace moetune
