// The prediction that prunes, against the screens of the journal that ships.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "measure/statistics.h"
#include "results/journal.h"
#include "results/journal_header.h"
#include "tune/candidates.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

// token count -> plan key -> median of its screen, microseconds
std::map<int, std::map<std::string, double>> screens_of(const Journal& journal) {
  std::map<int, std::map<std::string, double>> screens;
  for (const Json& event : journal.events) {
    if (!event.contains("measure") || event["measure"]["stage"] != "screen" || event["measure"]["outcome"] != "ok") {
      continue;
    }
    const Json& m = event["measure"];
    screens[m["tokens"].get<int>()][m["plans"][0].get<std::string>()] =
        median(m["samples_us"][0].get<std::vector<double>>());
  }
  return screens;
}

TEST(Prediction, IsCloseToTheShippedScreensAndOrdersTheBestEarly) {
  const fs::path path =
      fs::path(MOETUNE_SOURCE_DIR) / "results/NVIDIA_H200/journals/kimi-k2-fp8_w8a8-tp4.native.jsonl.gz";
  const Journal journal = read_journal(path);
  const RunIdentity run = run_identity_from_header(journal.header);
  double error = 0;
  int trials = 0, last_best = 0;
  double farthest_best = 0;
  for (const auto& [tokens, screens] : screens_of(journal)) {
    const CandidateList list = list_candidates({run.workload, tokens, run.device}, {});
    double best_prediction = 0, best_us = 0, predicted_of_best = 0;
    int rank = 0, rank_of_best = 0;
    for (const Candidate& candidate : list.candidates) {
      const auto found = screens.find(key_of(candidate.plan));
      if (candidate.is_baseline || found == screens.end()) continue;
      ++rank;
      if (best_prediction == 0) best_prediction = candidate.predicted_us;
      error += std::fabs(std::log(found->second / candidate.predicted_us));
      ++trials;
      if (best_us == 0 || found->second < best_us) {
        best_us = found->second;
        predicted_of_best = candidate.predicted_us;
        rank_of_best = rank;
      }
    }
    ASSERT_GT(rank, 0) << tokens;
    last_best = std::max(last_best, rank_of_best);
    farthest_best = std::max(farthest_best, predicted_of_best / best_prediction);
  }
  printf(
      "  %d screens: mean |log(measured / predicted)| %.3f; the best of a token count is predicted within %.2f x the "
      "best prediction, as number %d at the latest\n",
      trials, error / trials, farthest_best, last_best);
  EXPECT_GT(trials, 3000);
  EXPECT_LT(error / trials, 0.25);
  // With a margin to what pruning keeps in any case: a model that slips shows before it costs a winner.
  EXPECT_LE(last_best, 100);
  EXPECT_LT(100, TuneOptions{}.prune_keep);
}

}  // namespace
}  // namespace moetune
