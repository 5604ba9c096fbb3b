// How trials can end, and what a failure does to the rest of the run.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tune/tuner_fixture.h"

namespace moetune {
namespace {

const Config fast = config_of(16, 128, 128, 1, 8, 4);
const Config second = config_of(16, 128, 128, 1, 8, 3);
const char* const fast_kernel = "16, 128, 128, 8, 4>";

TEST(Outcomes, WrongResultsNeverWin) {
  Scripted s;
  s.set(fast, 20);
  s.set(second, 80);
  s.executor.validation = [](const Config& config) {
    return config == fast ? FakeExecutor::valid(0.7, Outcome::wrong) : FakeExecutor::valid(0.002);
  };
  const TokenResult result = s.run_one();
  EXPECT_EQ(result.engine.winner.config, second);
  EXPECT_EQ(result.native.winner.config, second);
  EXPECT_EQ(count_of(result, Outcome::wrong), 1);
  EXPECT_EQ(result.largest_error_plan, key_of(portable_plan(s.workload, 64, fast)));
  EXPECT_DOUBLE_EQ(result.largest_error, 0.7);
  EXPECT_DOUBLE_EQ(result.worst_rel_err, 0.002);
}

TEST(Outcomes, UnrecordedTrialsAreCountedAndNeverWin) {
  Scripted s;
  s.set(fast, 20);
  s.executor.validation = [](const Config& config) {
    return config == fast ? ValidateAnswer{} : FakeExecutor::valid(0.002);
  };
  const TokenResult result = s.run_one();
  EXPECT_EQ(count_of(result, Outcome::unrecorded), 1);
  EXPECT_TRUE(result.engine.is_baseline);
}

TEST(Outcomes, FailingKernelsAreNeverLaunched) {
  struct Case {
    CompileAnswer answer;
    Outcome outcome;
  };
  const std::vector<Case> cases = {
      {FakeExecutor::compiled(0, 0, Outcome::compile), Outcome::compile},
      {FakeExecutor::compiled(0, 0, Outcome::timeout), Outcome::timeout},
      {FakeExecutor::compiled(0, 0, Outcome::unrecorded), Outcome::unrecorded},
      {FakeExecutor::compiled(257, 0), Outcome::resources},  // times 256 threads
      {FakeExecutor::compiled(64, 257), Outcome::resources},
      {FakeExecutor::compiled(255, 256), Outcome::ok},
  };
  Scripted plain;
  const TokenResult usual = plain.run_one();
  for (const Case& one : cases) {
    Scripted s;
    s.executor.compilation = [&](const KernelSource& kernel) {
      return kernel.expression.find(fast_kernel) == std::string::npos ? FakeExecutor::compiled(64, 0) : one.answer;
    };
    const TokenResult result = s.run_one();
    const int groups = one.outcome == Outcome::ok ? 0 : 4;  // GROUP_SIZE_M is no part of the kernel
    EXPECT_EQ(count_of(result, Outcome::ok), count_of(usual, Outcome::ok) - groups);
    if (groups > 0) {
      EXPECT_EQ(count_of(result, one.outcome), count_of(usual, one.outcome) + groups);
    }
    const bool launched = std::count(s.executor.validated.begin(), s.executor.validated.end(), fast) > 0;
    EXPECT_EQ(launched, one.outcome == Outcome::ok);
  }
}

TEST(Outcomes, SpillingBaselineIsKept) {
  Scripted s;
  s.executor.compilation = [](const KernelSource&) { return FakeExecutor::compiled(64, 1000); };
  const TokenResult result = s.run_one();
  EXPECT_TRUE(result.baseline_ran);
  EXPECT_TRUE(result.engine.is_baseline);
  EXPECT_EQ(count_of(result, Outcome::ok), 1);
}

TEST(Outcomes, KernelThatEveryPlanNeedsMustCompile) {
  Scripted s;
  s.executor.compilation = [](const KernelSource& kernel) {
    const bool needed = kernel.expression.find("silu_mul") != std::string::npos;
    return FakeExecutor::compiled(64, 0, needed ? Outcome::compile : Outcome::ok);
  };
  try {
    s.run();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::internal);
    EXPECT_NE(std::string(error.what()).find("silu_mul"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("the log's first line"), std::string::npos);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(Outcomes, UnrecordedNeededKernelMakesItsPlansUnrecorded) {
  Scripted s;
  s.executor.compilation = [](const KernelSource& kernel) {
    const bool needed = kernel.expression.find("silu_mul") != std::string::npos;
    return FakeExecutor::compiled(64, 0, needed ? Outcome::unrecorded : Outcome::ok);
  };
  const TokenResult result = s.run_one();
  EXPECT_FALSE(result.engine.found);
  EXPECT_EQ(count_of(result, Outcome::ok), 0);
  EXPECT_GT(count_of(result, Outcome::unrecorded), 100);
}

TEST(Outcomes, PlanThatBreaksTheRaceIsDroppedAndTheOthersGoOn) {
  Scripted s;
  s.set(fast, 50);
  s.set(second, 80);
  s.executor.measuring = [](const MeasureRequest& request) {
    return request.stage == "race" && holds(request.plans, fast) ? Outcome::crash : Outcome::ok;
  };
  const TokenResult result = s.run_one();
  EXPECT_EQ(s.executor.requests("race", Quantity::rank).size(), 1u + 13u);
  EXPECT_EQ(count_of(result, Outcome::crash), 1);
  EXPECT_EQ(count_all(result), space_points);
  EXPECT_FALSE(holds(s.executor.requests("final", Quantity::rank).at(0).plans, fast));
  EXPECT_EQ(result.engine.winner.config, second);
}

TEST(Outcomes, PlanThatFailsInOneFinalWinsNeither) {
  Scripted s;
  s.set(fast, 50);
  s.set(second, 80);
  s.executor.measuring = [](const MeasureRequest& request) {
    const bool native_final = request.stage == "final" && request.quantity == Quantity::op;
    return native_final && holds(request.plans, fast) ? Outcome::launch : Outcome::ok;
  };
  const TokenResult result = s.run_one();
  EXPECT_EQ(result.engine.winner.config, second);
  EXPECT_EQ(result.native.winner.config, second);
  EXPECT_EQ(count_of(result, Outcome::launch), 1);
}

TEST(Outcomes, NothingRuns) {
  Scripted s;
  s.executor.validation = [](const Config&) { return FakeExecutor::valid(1, Outcome::launch); };
  const TokenResult result = s.run_one();
  EXPECT_FALSE(result.engine.found);
  EXPECT_FALSE(result.native.found);
  EXPECT_FALSE(result.baseline_ran);
  EXPECT_DOUBLE_EQ(result.floor_us.median, 10);
}

TEST(Outcomes, FailedPreparationIsAnErrorWithItsLog) {
  const std::vector<std::pair<Outcome, ExitCode>> cases = {{Outcome::memory, ExitCode::usage},
                                                           {Outcome::unrecorded, ExitCode::usage},
                                                           {Outcome::crash, ExitCode::no_device}};
  for (const auto& [outcome, code] : cases) {
    Scripted s;
    s.executor.opening = [&, outcome = outcome](int) { return outcome; };
    try {
      s.run();
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_NE(std::string(error.what()).find("needs 321 GB"), std::string::npos);
    }
  }
}

TEST(Outcomes, UnsupportedWorkloadIsAnError) {
  Scripted s;
  s.workload.hidden = 7170;
  try {
    s.run();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("7170"), std::string::npos);
  }
  EXPECT_TRUE(s.executor.opened.empty());
}

}  // namespace
}  // namespace moetune
