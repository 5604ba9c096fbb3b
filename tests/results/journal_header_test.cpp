#include "results/journal_header.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace moetune {
namespace {

using Part = HeaderDifference::Part;

RunIdentity run() {
  RunIdentity run;
  run.device.name = "NVIDIA H200";
  run.device.compute_capability = 90;
  run.environment = {{"driver", "13.0"}, {"nvrtc", "13.0"}, {"clock_mhz", 1980.5}};
  run.workload.model = "mixtral-8x7b";
  run.workload.experts = 8;
  run.workload.topk = 2;
  run.workload.hidden = 4096;
  run.workload.intermediate = 14336;
  run.seed = 18446744073709551615ull;
  run.kernel_digests = {{"grouped_gemm", "aa"}, {"sort_slots", "bb"}};
  run.command_line = "moetune --model mixtral-8x7b";
  return run;
}

std::vector<Part> parts(const RunIdentity& now) {
  std::vector<Part> parts;
  for (const HeaderDifference& difference : header_differences(make_journal_header(run()), now)) {
    parts.push_back(difference.part);
  }
  return parts;
}

TEST(JournalHeader, ReadsBack) {
  RunIdentity zipf = run();
  zipf.routing = {RoutingKind::zipf, 1.25};
  const Json header = Json::parse(make_journal_header(zipf).dump());
  EXPECT_EQ(header["format"], "moetune.journal/1");
  EXPECT_EQ(header["routing"], (Json{{"kind", "zipf"}, {"skew", 1.25}}));
  const RunIdentity read = run_identity_from_header(header);
  EXPECT_EQ(make_journal_header(read), header);
  EXPECT_EQ(read.workload, zipf.workload);
  EXPECT_EQ(read.seed, zipf.seed);
}

TEST(JournalHeader, NamesWhatIsMissing) {
  Json header = make_journal_header(run());
  header.erase("workload");
  try {
    run_identity_from_header(header);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("workload"), std::string::npos) << error.what();
  }
}

TEST(JournalHeader, TheSameRunDiffersInNothing) {
  RunIdentity now = run();
  now.command_line = "another";
  now.environment["clock_mhz"] = 1500.25;
  EXPECT_TRUE(parts(now).empty());
}

TEST(JournalHeader, EveryPartIsCompared) {
  const auto edited = [](auto edit) {
    RunIdentity now = run();
    edit(now);
    return parts(now);
  };
  EXPECT_EQ(edited([](RunIdentity& r) { r.device.name = "x"; }), std::vector{Part::device});
  EXPECT_EQ(edited([](RunIdentity& r) { r.environment["nvrtc"] = "12.9"; }), std::vector{Part::environment});
  EXPECT_EQ(edited([](RunIdentity& r) { r.workload.tp = 2; }), std::vector{Part::workload});
  EXPECT_EQ(edited([](RunIdentity& r) { r.seed = 1; }), std::vector{Part::seed});
  EXPECT_EQ(edited([](RunIdentity& r) { r.routing.kind = RoutingKind::zipf; }), std::vector{Part::routing});
  EXPECT_EQ(edited([](RunIdentity& r) { r.kernel_digests["sort_slots"] = "cc"; }), std::vector{Part::kernels});
  EXPECT_EQ(edited([](RunIdentity& r) { r.kernel_digests["new"] = "cc"; }), std::vector{Part::kernels});
}

TEST(JournalHeader, ReplayWarnsOfOtherKernelsAndRefusesAnotherWorkload) {
  const Json recorded = make_journal_header(run());
  RunIdentity now = run();
  now.device.name = "another";
  now.environment = Json::object();
  EXPECT_TRUE(check_replay_header(recorded, now).empty());

  now.kernel_digests["grouped_gemm"] = "new";
  const std::vector<std::string> warnings = check_replay_header(recorded, now);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("grouped_gemm"), std::string::npos) << warnings[0];

  now.workload.topk = 4;
  EXPECT_THROW(check_replay_header(recorded, now), Error);
  now = run();
  now.routing.kind = RoutingKind::zipf;
  EXPECT_THROW(check_replay_header(recorded, now), Error);
}

}  // namespace
}  // namespace moetune
