// The tuner end to end without a GPU: a journal of scripted answers, replayed by the real binary.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/temp_folder.h"
#include "cli/command.h"
#include "kernels/family.h"
#include "report/console.h"
#include "results/journal_files.h"
#include "results/winners.h"
#include "tune/fake_executor.h"
#include "tune/recorded_executor.h"
#include "tune/tuner.h"
#include "workload/model_config.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

const std::string sizes = "--experts 16 --topk 2 --hidden 512 --intermediate 256 --tp 2";

class ReplayedTuning : public testing::Test {
 protected:
  // Tunes against scripted times, and leaves the journal a GPU run would have left.
  fs::path record(const std::string& dtype, const std::vector<int>& tokens, bool all_wrong = false) {
    WorkloadOptions sized;
    sized.experts = 16, sized.topk = 2, sized.hidden = 512, sized.intermediate = 256, sized.tp = 2;
    sized.dtype = dtype;
    const Workload workload = make_workload(sized);
    auto gpu = std::make_unique<FakeExecutor>();
    // Of each token count, the first two candidates that the engine takes too are its best.
    gpu->time_us = [this, workload](int count, const Config& config, Quantity, int round) {
      std::vector<Config>& best = best_[count];
      const bool is_baseline = config == engine_default_config(workload, count);
      auto place = std::find(best.begin(), best.end(), config);
      const bool eligible = !is_baseline && config.at("BLOCK_SIZE_M") >= 16;
      if (place == best.end() && eligible && best.size() < 2) place = best.insert(place, config);
      const double us = is_baseline || place == best.end() ? 90 : place == best.begin() ? 40 : 60;
      return us + 0.01 * round + 0.001 * count;
    };
    if (all_wrong) {
      gpu->validation = [](const Config&) { return FakeExecutor::valid(0.5, Outcome::wrong); };
    }
    TuneOptions options;
    options.tokens = tokens;
    const fs::path path = folder_.path() / "results" / "Fake_GPU" / "journals" / journal_file_name(workload);
    const Json header = make_journal_header(run_identity(*gpu, workload, {}, 0, "moetune"));
    auto writer = std::make_unique<JournalWriter>(path, header, false);
    RecordedExecutor executor({header, {}, false}, std::move(gpu), std::move(writer));
    tune(workload, options, executor, {});
    return path;
  }

  Ran run(const std::string& arguments) const { return moetune_in(folder_.path(), arguments); }

  // Tunes into `save_dir`; the engine file and the native winners, one after the other.
  std::string winners(const std::string& save_dir, const std::string& arguments) const {
    const Ran ran = run(sizes + " " + arguments + " --save-dir " + save_dir);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const std::string files = text_of(engine_file(save_dir)) + text_of(native_file(save_dir));
    EXPECT_NE(files.find("BLOCK_SIZE_M"), std::string::npos) << ran.out;
    return files;
  }

  fs::path engine_file(const std::string& save_dir) const {
    return folder_.path() / save_dir / "E=16,N=128,device_name=Fake_GPU.json";
  }
  fs::path native_file(const std::string& save_dir) const {
    return folder_.path() / save_dir / "native" / "moe-e16-k2-h512-i256-bf16-tp2.json";
  }

  const TempFolder folder_;
  std::map<int, std::vector<Config>> best_;  // per token count: the fastest, the second
};

const std::string bf16_replay = "--tokens 1,4 --device replay:Fake_GPU";

TEST_F(ReplayedTuning, WritesTheSameFilesEachTime) {
  record("bf16", {1, 4});
  const std::string first = winners("a", bf16_replay);
  EXPECT_EQ(winners("b", bf16_replay), first);
  fs::remove_all(folder_.path() / "a");
  EXPECT_EQ(winners("a", bf16_replay), first) << "winner files are an output only";

  const EngineFile file = read_engine_file(engine_file("a"));
  ASSERT_EQ(file.size(), 2u);
  for (const auto& [tokens, config] : file) EXPECT_EQ(config, best_[tokens][0]) << tokens;
  const NativeFile native = read_native_file(native_file("a"));
  EXPECT_EQ(native.device, "Fake GPU");
  EXPECT_EQ(native.winners.at(4).plan, portable_plan(native.workload, 4, best_[4][0]));
  const Json record = Json::parse(text_of(record_path(engine_file("a"))));
  EXPECT_EQ(record.at("replayed"), true);
  EXPECT_EQ(record.at("interrupted"), false);
}

TEST_F(ReplayedTuning, ARerunOfFewerTokenCountsKeepsTheOthers) {
  record("bf16", {1, 4});
  const std::string first = winners("a", bf16_replay);
  EXPECT_EQ(winners("a", "--tokens 4 --device replay:Fake_GPU"), first);
  const Json record = Json::parse(text_of(record_path(engine_file("a"))));
  EXPECT_EQ(record.at("tokens_of_earlier_runs"), Json({1}));
  EXPECT_TRUE(record.at("tokens").contains("1"));
  EXPECT_TRUE(record.at("tokens").contains("4"));
}

TEST_F(ReplayedTuning, BenchRefusesPlansThatNoKernelTakes) {
  record("bf16", {1});
  winners("out", "--tokens 1 --device replay:Fake_GPU");
  const std::string text = text_of(native_file("out"));
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& part) {
    std::string broken = text;
    const std::size_t at = broken.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    broken.replace(at, from.size(), to);
    std::ofstream(folder_.path() / "broken.json") << broken;
    const Ran ran = run("bench " + sizes + " --tokens 1 --device replay:Fake_GPU --winners broken.json");
    EXPECT_EQ(ran.code, 2) << ran.err;
    expect_has(ran.err, {part});
  };
  refused(R"("steps":["gemm1"])", R"("steps":[])", "steps");
  refused(R"("steps":["gemm1"])", R"("steps":["gemm2"])", "once and in order");
  refused(R"("num_stages":)", R"("num_stages":9)", "num_stages must be one of");
  refused(R"("grouped_gemm")", R"("silu_mul")", "does not do the step");
}

TEST_F(ReplayedTuning, PrintsRowsPathsAndWhoseKernelsWereMeasured) {
  record("bf16", {1, 4});
  const Ran ran = run(sizes + " " + bf16_replay + " --save-dir out");
  EXPECT_EQ(ran.code, 0);
  expect_has(ran.out, {"Fake GPU", "replayed", short_form(best_[1][0]), "moetune's own kernels", "wrote out/E=16,N=128",
                       "wrote out/native/", "2 token counts in"});
  EXPECT_EQ(ran.err.find("warning"), std::string::npos) << ran.err;
}

TEST_F(ReplayedTuning, AFasterSampleChangesTheWinner) {
  const fs::path journal = record("bf16", {1, 4});
  const std::string before = winners("a", bf16_replay);
  std::istringstream lines(text_of(journal));
  std::ofstream changed(folder_.path() / "changed.jsonl");
  int sped_up = 0;
  for (std::string line; std::getline(lines, line);) {
    Json event = Json::parse(line);
    if (event.contains("measure")) {
      Json& measure = event["measure"];
      for (std::size_t i = 0; i < measure["plans"].size(); ++i) {
        if (measure["plans"][i].get<std::string>().find(key_of(best_[measure["tokens"].get<int>()][1])) ==
            std::string::npos)
          continue;
        for (Json& us : measure["samples_us"][i]) us = us.get<double>() / 2;
        ++sped_up;
      }
    }
    changed << event.dump() << '\n';
  }
  changed.close();
  ASSERT_GT(sped_up, 2);
  EXPECT_NE(winners("b", "--tokens 1,4 --device replay:changed.jsonl"), before);
  for (const auto& [tokens, config] : read_engine_file(engine_file("b"))) EXPECT_EQ(config, best_[tokens][1]) << tokens;
  EXPECT_EQ(winners("c", bf16_replay), before);
}

TEST_F(ReplayedTuning, SaysWhatIsRecordedWhenTheWorkloadIsNot) {
  record("bf16", {1});
  const Ran other = run("--model kimi-k2 --tp 4 --device replay:Fake_GPU");
  EXPECT_EQ(other.code, 2);
  expect_has(other.err, {"kimi-k2-fp8_w8a8-tp4", "moe-e16-k2-h512-i256-bf16-tp2"});
  const Ran tokens = run(sizes + " --tokens 1,7 --device replay:Fake_GPU");
  EXPECT_EQ(tokens.code, 2);
  expect_has(tokens.err, {"7 tokens", "unrecorded"});
  EXPECT_EQ(read_engine_file(engine_file(".")).size(), 1u) << "what was finished is kept";
  expect_has(run("list devices").out, {"replay:Fake_GPU", "moe-e16-k2-h512-i256-bf16-tp2"});
  expect_has(run("doctor").out, {"replay:Fake_GPU"});
  expect_has(run(sizes + " --device replay:Fake_GPU --dry-run").out, {"E=16,N=128,device_name=Fake_GPU.json"});
}

TEST_F(ReplayedTuning, WarnsBeforeAFileOfTheOther16BitDtypeIsReplaced) {
  record("bf16", {1});
  record("fp16", {1});
  const std::string replay = sizes + " --tokens 1 --device replay:Fake_GPU --save-dir out";
  EXPECT_EQ(run(replay + " --dtype bf16").err.find("warning"), std::string::npos);
  const Ran other = run(replay + " --dtype fp16");
  EXPECT_EQ(other.code, 0);
  expect_has(other.err, {"warning", "bf16", "fp16", "E=16,N=128,device_name=Fake_GPU.json"});
}

TEST_F(ReplayedTuning, WritesNothingWhenNoCandidateIsRight) {
  record("bf16", {1}, true);
  const Ran ran = run(sizes + " --tokens 1 --device replay:Fake_GPU --save-dir out");
  EXPECT_EQ(ran.code, 1);
  expect_has(ran.out + ran.err, {"wrong", "nothing was written"});
  EXPECT_FALSE(fs::exists(engine_file("out")));
}

// The output pipe is nearly full, so that the run waits after its first rows until it has the signal.
TEST_F(ReplayedTuning, AnInterruptKeepsWhatIsFinished) {
  const std::vector<int> tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  record("bf16", tokens);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int capacity = ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
  ASSERT_GT(capacity, 0);
  const std::string filler(static_cast<std::size_t>(capacity) - 700, ' ');
  ASSERT_EQ(::write(ends[1], filler.data(), filler.size()), static_cast<ssize_t>(filler.size()));
  const fs::path folder = folder_.path();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    if (::chdir(folder.c_str()) != 0) ::_exit(127);
    ::freopen("/dev/null", "w", stderr);
    ::execl(MOETUNE_BINARY, "moetune", "--experts", "16", "--topk", "2", "--hidden", "512", "--intermediate", "256",
            "--tp", "2", "--tokens", "1-12", "--device", "replay:Fake_GPU", "--save-dir", "out", nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  for (int i = 0; i < 1000 && !fs::exists(record_path(native_file("out"))); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(child, SIGINT);
  char block[4096];
  while (::read(ends[0], block, sizeof block) > 0) {
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(ends[0]);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
  const EngineFile file = read_engine_file(engine_file("out"));
  EXPECT_GE(file.size(), 1u);
  EXPECT_LT(file.size(), tokens.size());
  EXPECT_EQ(Json::parse(text_of(record_path(engine_file("out")))).at("interrupted"), true);
}

TEST_F(ReplayedTuning, BenchMeasuresAFileWithoutTuning) {
  record("bf16", {1, 4});
  winners("out", bf16_replay);
  const std::string engine = "'out/" + engine_file("out").filename().string() + "'";
  const Ran ran = run("bench " + sizes + " " + bf16_replay + " --config " + engine + " --json bench.json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_has(ran.out, {"entry 1", "entry 4", "valid"});
  const Json bench = Json::parse(text_of(folder_.path() / "bench.json"));
  EXPECT_EQ(bench.at("format"), "moetune.bench/1");
  EXPECT_EQ(bench.at("device"), "Fake GPU");
  EXPECT_GT(bench.at("read_ceiling").at("gbps").get<double>(), 0);
  ASSERT_EQ(bench.at("rows").size(), 2u);
  const Json& row = bench["rows"][0];
  for (const char* name : {"gemm1_us", "gemm2_us", "pair_us", "op_us"}) {
    EXPECT_NEAR(row.at(name).get<double>(), 40, 1) << name;
  }
  EXPECT_NEAR(row.at("baseline_pair_us").get<double>(), 90, 1);
  EXPECT_NEAR(row.at("floor_us").get<double>(), 10, 0.1);
  EXPECT_EQ(row.at("valid"), true);
  EXPECT_EQ(row.at("plan"), to_json(read_native_file(native_file("out")).winners.at(1).plan));

  const Ran native = run("bench " + sizes + " " + bf16_replay + " --winners out/native/" +
                         native_file("out").filename().string() + " --json native.json");
  EXPECT_EQ(native.code, 0) << native.err;
  EXPECT_EQ(Json::parse(text_of(folder_.path() / "native.json")).at("rows"), bench["rows"]);
}

// A plan that never ran on the recorded GPU has no times, and that is no failure of the plan.
TEST_F(ReplayedTuning, BenchOfWhatIsNotRecorded) {
  record("bf16", {1});
  const Config too_large = {{{"BLOCK_SIZE_M", 256},
                             {"BLOCK_SIZE_N", 256},
                             {"BLOCK_SIZE_K", 256},
                             {"GROUP_SIZE_M", 64},
                             {"num_warps", 8},
                             {"num_stages", 5}}};
  std::ofstream(folder_.path() / "other.json") << engine_file_text({{1, too_large}});
  const Ran ran = run("bench " + sizes + " --tokens 1 --device replay:Fake_GPU --config other.json --json bench.json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json row = Json::parse(text_of(folder_.path() / "bench.json")).at("rows").at(0);
  EXPECT_TRUE(row.at("pair_us").is_null());
  EXPECT_NEAR(row.at("baseline_pair_us").get<double>(), 90, 1);
  EXPECT_EQ(row.at("valid"), false);
  EXPECT_EQ(row.at("invalid_reason"), "unrecorded");
}

TEST_F(ReplayedTuning, BenchFailsForAWrongResult) {
  record("bf16", {1}, true);
  const Ran ran = run("bench " + sizes + " --tokens 1 --device replay:Fake_GPU --json bench.json");
  EXPECT_EQ(ran.code, 1);
  expect_has(ran.out, {"wrong", "default rule"});
  EXPECT_EQ(Json::parse(text_of(folder_.path() / "bench.json")).at("rows").at(0).at("valid"), false);
}

}  // namespace
}  // namespace moetune
