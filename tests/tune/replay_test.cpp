// A run that is recorded and then replayed makes the same choices, bit for bit.
#include <gtest/gtest.h>

#include "base/temp_folder.h"
#include "tune/recorded_executor.h"
#include "tune/tuner_fixture.h"

namespace moetune {
namespace {

const Config fast = config_of(16, 128, 128, 1, 8, 4);

std::unique_ptr<FakeExecutor> noisy_gpu() {
  auto gpu = std::make_unique<FakeExecutor>();
  gpu->time_us = [state = std::uint64_t{1}](int, const Config& config, Quantity, int) mutable {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double noise = static_cast<double>(state >> 32) * 1e-9;
    if (config == fast) return 40 + noise;
    return (config.at("num_stages") == 5 ? 400 : 90) + 3 * noise;
  };
  return gpu;
}

// What winners files and records are made of.
std::string fingerprint(const TuneResult& result) {
  std::string text;
  for (const TokenResult& one : result.tokens) {
    for (const Choice* choice : {&one.engine, &one.native}) {
      for (const Finalist& finalist : choice->finalists) {
        text +=
            Json{key_of(finalist.plan), finalist.time_us.median, finalist.to_baseline.band.high, finalist.tied}.dump();
      }
      text += "winner " + key_of(choice->winner.plan) + "\n";
    }
    text += Json{one.engine_times.pair.median, one.native_times.op.p90, one.floor_us.median}.dump();
    for (const auto& [outcome, count] : one.outcomes) text += std::string(name_of(outcome)) + std::to_string(count);
  }
  return text;
}

void expect_replay_repeats(std::unique_ptr<FakeExecutor> gpu) {
  const TempFolder folder;
  const auto path = folder.path() / "run.journal.jsonl";
  TuneOptions options;
  options.tokens = {1, 64};
  options.seed = 3;
  std::string recorded;
  {
    const RunIdentity run = run_identity(*gpu, fp8_layer(), {}, options.seed, "moetune");
    const Json header = make_journal_header(run);
    auto writer = std::make_unique<JournalWriter>(path, header, false);
    RecordedExecutor executor({header, {}, false}, std::move(gpu), std::move(writer));
    recorded = fingerprint(tune(fp8_layer(), options, executor, {}));
  }
  RecordedExecutor replay(read_journal(path));
  EXPECT_EQ(fingerprint(tune(fp8_layer(), options, replay, {})), recorded);
  EXPECT_EQ(replay.counts().unrecorded, 0);
}

TEST(Replay, RepeatsARun) { expect_replay_repeats(noisy_gpu()); }

TEST(Replay, RepeatsARunWithFailures) {
  auto gpu = noisy_gpu();
  gpu->validation = [](const Config& config) {
    return FakeExecutor::valid(
        0.1, config.at("num_warps") == 4 && config.at("num_stages") == 3 ? Outcome::wrong : Outcome::ok);
  };
  expect_replay_repeats(std::move(gpu));
}

TEST(Replay, RepeatsARunWhoseRaceBroke) {
  auto gpu = noisy_gpu();
  gpu->measuring = [](const MeasureRequest& request) {
    return request.stage == "race" && holds(request.plans, fast) ? Outcome::crash : Outcome::ok;
  };
  expect_replay_repeats(std::move(gpu));
}

}  // namespace
}  // namespace moetune
