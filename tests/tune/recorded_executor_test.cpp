#include "tune/recorded_executor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "base/temp_folder.h"
#include "kernels/family.h"

namespace moetune {
namespace {

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

GpuLimits h200() {
  GpuLimits limits;
  limits.name = "NVIDIA H200";
  limits.compute_capability = 90;
  limits.arch = "sm_90a";
  limits.sm_count = 132;
  return limits;
}

Plan plan_of(std::int64_t block_m) {
  const Config config{{{"BLOCK_SIZE_M", block_m},
                       {"BLOCK_SIZE_N", 64},
                       {"BLOCK_SIZE_K", 64},
                       {"GROUP_SIZE_M", 1},
                       {"num_warps", 4},
                       {"num_stages", 3}}};
  return portable_plan(mixtral(), 64, config);
}

const KernelSource kKernel{"kernels/moe/grouped_gemm.cu", "moetune::grouped_gemm<16>"};

Json header() {
  RunIdentity run;
  run.device = h200();
  run.environment = {{"driver", "13.0"}};
  run.workload = mixtral();
  run.kernel_digests = {{"grouped_gemm", "aa"}};
  return make_journal_header(run);
}

// A GPU that answers by rule and notes what it was asked. Every sample is another number.
struct FakeExecutor : Executor {
  std::vector<std::string> asked;
  std::vector<std::string>* log = nullptr;
  std::map<std::string, Outcome> failing;  // by plan key
  double rel_err = 0.001;
  int sample = 0;

  void note(const std::string& what) { log->push_back(what); }
  GpuLimits limits() override { return h200(); }
  Json environment() override { return {{"driver", "13.0"}}; }
  void prefetch(const std::vector<KernelSource>& kernels) override {
    for (const KernelSource& kernel : kernels) note("prefetch " + kernel.expression);
  }
  CompileAnswer compile(const KernelSource& kernel) override {
    note("compile " + kernel.expression);
    CompileAnswer answer;
    answer.outcome = kernel.expression.find("bad") == std::string::npos ? Outcome::ok : Outcome::compile;
    answer.registers = 168;
    answer.spill_bytes = 8;
    answer.log = "ptxas says";
    return answer;
  }
  ProblemAnswer open(int tokens) override {
    note("open " + std::to_string(tokens));
    ProblemAnswer answer;
    answer.outcome = Outcome::ok;
    answer.calls = 7;
    answer.weight_sets = 2;
    answer.active_experts = 7.25;
    answer.slots = 128;
    answer.l2_ratio = 2.5;
    answer.load_histogram = {0, 3, 4};
    return answer;
  }
  ValidateAnswer validate(const Plan& plan) override {
    note("validate " + key_of(plan));
    ValidateAnswer answer;
    answer.outcome = Outcome::ok;
    answer.rel_err = rel_err;
    answer.worst_token_err = 0.002;
    return answer;
  }
  MeasureAnswer measure(const MeasureRequest& request) override {
    note("measure " + request.stage);
    MeasureAnswer answer;
    for (const Plan& plan : request.plans) {
      if (failing.count(key_of(plan)) != 0) {
        answer.outcome = failing[key_of(plan)];
        answer.log = "device worker ended";
        return answer;
      }
    }
    answer.outcome = Outcome::ok;
    answer.samples_us.resize(request.quantity == Quantity::floor ? 1 : request.plans.size());
    for (int round = 0; round < request.rounds; ++round) {
      for (auto& samples : answer.samples_us) samples.push_back(10 + 0.001 * ++sample);
      if (request.stop_above_us > 0 && answer.samples_us[0].back() > request.stop_above_us) break;
    }
    return answer;
  }
};

MeasureRequest request(const std::string& stage, const std::vector<Plan>& plans, int rounds, double stop = 0) {
  MeasureRequest request;
  request.plans = plans;
  request.rounds = rounds;
  request.stop_above_us = stop;
  request.stage = stage;
  return request;
}

MeasureRequest floor_request(int rounds) {
  MeasureRequest floor = request("report", {}, rounds);
  floor.quantity = Quantity::floor;
  return floor;
}

class RecordedExecutorTest : public testing::Test {
 protected:
  TempFolder folder;
  std::filesystem::path path = folder.path() / "a.jsonl";
  std::vector<std::string> asked;
  std::map<std::string, Outcome> failing;
  double rel_err = 0.001;

  // Records into `path`, resuming from what is there.
  std::unique_ptr<RecordedExecutor> live() {
    auto fake = std::make_unique<FakeExecutor>();
    fake->log = &asked;
    fake->failing = failing;
    fake->rel_err = rel_err;
    Journal journal;
    journal.header = header();
    if (std::filesystem::exists(path)) journal = read_journal(path);
    auto writer = std::make_unique<JournalWriter>(path, header(), true);
    return std::make_unique<RecordedExecutor>(std::move(journal), std::move(fake), std::move(writer));
  }
  RecordedExecutor replay() { return RecordedExecutor(read_journal(path)); }

  // A run's requests in short; what every answer says, as text.
  static std::vector<std::string> run(RecordedExecutor& executor) {
    std::vector<std::string> answers;
    const auto keep = [&](const Json& json) { answers.push_back(json.dump()); };
    const CompileAnswer compiled = executor.compile(kKernel);
    keep({name_of(compiled.outcome), compiled.registers, compiled.spill_bytes, compiled.log});
    for (const int tokens : {64, 128}) {
      keep(to_json(executor.open(tokens)));
      for (const int m : {16, 32, 64}) {
        keep(to_json(executor.validate(plan_of(m))));
        keep(to_json(executor.measure(request("screen", {plan_of(m)}, 3, m == 64 ? 5 : 0))));
      }
      keep(to_json(executor.measure(request("race", {plan_of(16), plan_of(32), plan_of(64)}, 4))));
      keep(to_json(executor.measure(floor_request(2))));
    }
    return answers;
  }
};

TEST_F(RecordedExecutorTest, ReplayAnswersAsTheRecordedRunDid) {
  failing[key_of(plan_of(32))] = Outcome::crash;
  rel_err = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::string> recorded = run(*live());
  RecordedExecutor executor = replay();
  EXPECT_EQ(run(executor), recorded);
  EXPECT_EQ(executor.counts().recorded, 2 * 9);
  EXPECT_EQ(executor.counts().unrecorded, 0);
  EXPECT_EQ(executor.limits().name, "NVIDIA H200");
  EXPECT_EQ(executor.environment()["driver"], "13.0");
  EXPECT_EQ(executor.environment()["kernel_digests"]["grouped_gemm"], "aa");
}

TEST_F(RecordedExecutorTest, EventsHaveTheDocumentedShape) {
  failing[key_of(plan_of(32))] = Outcome::timeout;
  auto executor = live();
  executor->compile(kKernel);
  executor->compile({"f", "bad"});
  executor->open(64);
  executor->validate(plan_of(16));
  executor->measure(request("screen", {plan_of(16)}, 2));
  executor->measure(request("screen", {plan_of(32)}, 2));
  executor->measure(floor_request(1));
  const std::vector<Json> events = read_journal(path).events;
  const std::string plan = Json(key_of(plan_of(16))).dump();
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[0].dump(), R"({"compile":{"kernel":"kernels/moe/grouped_gemm.cu:moetune::grouped_gemm<16>",)"
                              R"("outcome":"ok","registers":168,"spill_bytes":8}})");
  EXPECT_EQ(events[1]["compile"]["log"], "ptxas says");
  EXPECT_EQ(events[2].dump(), R"({"open":{"tokens":64,"outcome":"ok","calls":7,"weight_sets":2,)"
                              R"("active_experts":7.25,"slots":128.0,"l2_ratio":2.5,"load_histogram":[0,3,4]}})");
  EXPECT_EQ(events[3].dump(), R"({"validate":{"tokens":64,"plan":)" + plan +
                                  R"(,"outcome":"ok","rel_err":0.001,"worst_token_err":0.002,"exact_mismatches":0}})");
  EXPECT_EQ(events[4].dump(), R"({"measure":{"tokens":64,"quantity":"rank","stage":"screen","plans":[)" + plan +
                                  R"(],"outcome":"ok","samples_us":[[10.001,10.002]]}})");
  EXPECT_EQ(events[5]["measure"]["outcome"], "timeout");
  EXPECT_EQ(events[5]["measure"]["log"], "device worker ended");
  EXPECT_EQ(events[6]["measure"]["plans"], Json::array({"floor"}));
}

TEST_F(RecordedExecutorTest, ReplayServesSamplesInOrderThenFromTheStart) {
  auto recorder = live();
  recorder->open(64);
  recorder->measure(request("screen", {plan_of(16)}, 2));             // .001 .002
  recorder->measure(request("race", {plan_of(16), plan_of(32)}, 2));  // .003 .005
  RecordedExecutor executor = replay();
  executor.open(64);
  const auto samples = [&](int rounds) { return executor.measure(request("final", {plan_of(16)}, rounds)).samples_us; };
  EXPECT_EQ(samples(3), (std::vector<std::vector<double>>{{10 + 0.001 * 1, 10 + 0.001 * 2, 10 + 0.001 * 3}}));
  EXPECT_EQ(samples(3), (std::vector<std::vector<double>>{{10 + 0.001 * 5, 10 + 0.001 * 1, 10 + 0.001 * 2}}));
}

TEST_F(RecordedExecutorTest, ReplayStopsEarlyLikeALiveRun) {
  auto recorder = live();
  recorder->open(64);
  recorder->measure(request("screen", {plan_of(16)}, 4));  // .001 to .004
  RecordedExecutor executor = replay();
  executor.open(64);
  EXPECT_EQ(executor.measure(request("screen", {plan_of(16)}, 4, 10.0015)).samples_us[0].size(), 2u);
  EXPECT_EQ(executor.measure(request("screen", {plan_of(16)}, 4, 5)).samples_us[0].size(), 1u);
  EXPECT_EQ(executor.measure(request("screen", {plan_of(16)}, 4, 50)).samples_us[0].size(), 4u);
}

TEST_F(RecordedExecutorTest, WhatTheJournalLacksIsUnrecorded) {
  auto recorder = live();
  recorder->open(64);
  recorder->measure(request("screen", {plan_of(16)}, 2));
  RecordedExecutor executor = replay();
  EXPECT_EQ(executor.compile(kKernel).outcome, Outcome::unrecorded);
  const ProblemAnswer other = executor.open(128);
  EXPECT_EQ(other.outcome, Outcome::unrecorded);
  EXPECT_NE(other.log.find("token counts are 64"), std::string::npos) << other.log;
  EXPECT_EQ(executor.measure(request("screen", {plan_of(16)}, 2)).outcome, Outcome::unrecorded);
  EXPECT_EQ(executor.open(64).outcome, Outcome::ok);
  EXPECT_EQ(executor.validate(plan_of(16)).outcome, Outcome::unrecorded);
  const MeasureAnswer answer = executor.measure(request("race", {plan_of(16), plan_of(32)}, 2));
  EXPECT_EQ(answer.outcome, Outcome::unrecorded);
  EXPECT_NE(answer.log.find(key_of(plan_of(32))), std::string::npos) << answer.log;
  // Nothing of the other plan was used up.
  EXPECT_EQ(executor.measure(request("race", {plan_of(16)}, 1)).samples_us[0][0], 10.001);
  EXPECT_EQ(executor.counts().unrecorded, 4);
}

TEST_F(RecordedExecutorTest, ARecordedFailureIsTheAnswerInEveryRequest) {
  failing[key_of(plan_of(32))] = Outcome::crash;
  auto recorder = live();
  recorder->open(64);
  recorder->measure(request("screen", {plan_of(16)}, 2));
  recorder->measure(request("screen", {plan_of(32)}, 2));
  RecordedExecutor executor = replay();
  executor.open(64);
  EXPECT_EQ(executor.measure(request("another", {plan_of(32)}, 2)).outcome, Outcome::crash);
  EXPECT_EQ(executor.measure(request("race", {plan_of(16), plan_of(32)}, 2)).outcome, Outcome::crash);
}

TEST_F(RecordedExecutorTest, ResumingAsksTheGpuOnlyForTheRest) {
  const std::vector<std::string> whole = run(*live());
  const std::string content = read_file(path);
  const std::vector<std::string> asked_whole = std::exchange(asked, {});

  // Killed after the last answer of the first token count was written, while the next was: torn.
  const std::size_t cut = content.find("{\"open\":{\"tokens\":128");
  write_file_atomically(path, content.substr(0, cut + 9));
  auto executor = live();
  const std::vector<std::string> resumed = run(*executor);
  EXPECT_EQ(executor->counts().recorded, 9);
  EXPECT_EQ(executor->counts().live, 9);
  EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + 10, resumed.begin()));
  EXPECT_EQ(asked, std::vector<std::string>(asked_whole.begin() + 10, asked_whole.end()));
  EXPECT_EQ(read_journal(path).events.size(), 19u);
  RecordedExecutor again = replay();
  EXPECT_EQ(run(again), resumed);
}

TEST_F(RecordedExecutorTest, ResumingInTheMiddleOpensTheTokenCountAndCompilesFirst) {
  {
    auto recorder = live();
    const Problem problem{mixtral(), 64, h200()};
    for (const KernelSource& kernel : kernels_of(problem, plan_of(16))) recorder->compile(kernel);
    recorder->open(64);
    recorder->measure(request("screen", {plan_of(16)}, 2));
  }
  asked.clear();
  auto executor = live();
  const std::vector<KernelSource> kernels = kernels_of({mixtral(), 64, h200()}, plan_of(16));
  executor->prefetch(kernels);
  EXPECT_EQ(executor->compile(kernels[0]).outcome, Outcome::ok);
  executor->open(64);
  executor->measure(request("screen", {plan_of(16)}, 2));
  EXPECT_TRUE(asked.empty());
  executor->measure(request("race", {plan_of(16)}, 2));
  std::vector<std::string> expected;
  for (const KernelSource& kernel : kernels) expected.push_back("prefetch " + kernel.expression);
  expected.push_back("open 64");
  for (const KernelSource& kernel : kernels) expected.push_back("compile " + kernel.expression);
  expected.push_back("measure race");
  EXPECT_EQ(asked, expected);
}

TEST_F(RecordedExecutorTest, ResumingServesEachEventOnceAndOnlyWhereItFits) {
  {
    auto recorder = live();
    recorder->open(64);
    recorder->measure(request("screen", {plan_of(16)}, 2));
    recorder->measure(request("screen", {plan_of(32)}, 2, 5));  // one sample: stopped early
  }
  asked.clear();
  auto executor = live();
  executor->open(64);
  executor->measure(request("screen", {plan_of(16)}, 2));
  executor->measure(request("screen", {plan_of(32)}, 2, 5));
  EXPECT_TRUE(asked.empty());
  executor->measure(request("screen", {plan_of(16)}, 2));
  EXPECT_EQ(asked, (std::vector<std::string>{"open 64", "measure screen"}));

  executor = nullptr;
  asked.clear();
  executor = live();
  executor->open(64);
  EXPECT_EQ(executor->measure(request("screen", {plan_of(16)}, 3)).samples_us[0].size(), 3u);
  EXPECT_EQ(asked, (std::vector<std::string>{"open 64", "measure screen"}));
}

TEST_F(RecordedExecutorTest, KernelsAreCompiledOnce) {
  auto executor = live();
  executor->compile(kKernel);
  executor->compile(kKernel);
  EXPECT_EQ(asked.size(), 1u);
  EXPECT_EQ(read_journal(path).events.size(), 1u);
}

TEST_F(RecordedExecutorTest, MalformedEventsNameTheirLine) {
  for (const char* line : {R"({"measure":{"tokens":1}})", R"({"validate":{"tokens":1,"plan":"a","outcome":"?"}})", "{}",
                           R"({"measure":{"tokens":1,"quantity":"op","plans":["a"],"outcome":"ok"}})"}) {
    write_file_atomically(path, header().dump() + "\n{\"note\":1}\n" + line + "\n");
    try {
      replay();
      ADD_FAILURE() << line;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos) << error.what();
    }
  }
}

// A long run's journal is ready in a moment; the limit is wide enough for a slow machine with sanitizers.
TEST_F(RecordedExecutorTest, LoadsALongJournalQuickly) {
  std::string text = header().dump() + "\n";
  for (int i = 0; i < 100000; ++i) {
    text += R"({"measure":{"tokens":)" + std::to_string(i % 18) +
            R"(,"quantity":"rank","stage":"screen","plans":["grouped_gemm(gemm1,gemm2)BLOCK_SIZE_M=)" +
            std::to_string(i / 18) +
            R"(,BLOCK_SIZE_N=64,BLOCK_SIZE_K=64,GROUP_SIZE_M=1,num_warps=4,num_stages=3"],"outcome":"ok",)" +
            R"("samples_us":[[28.347,28.351,28.339]]}})" + "\n";
  }
  write_file_atomically(path, text);
  const auto begin = std::chrono::steady_clock::now();
  RecordedExecutor executor = replay();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  RecordProperty("seconds", std::to_string(seconds));
  std::printf("loaded in %.2f s\n", seconds);
  EXPECT_LT(seconds, 20);
}

}  // namespace
}  // namespace moetune
