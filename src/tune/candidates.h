// What a token count tries: candidate plans in the order they are tried. Private to this layer.
#pragma once

#include <vector>

#include "kernels/family.h"
#include "tune/tuner.h"

namespace moetune {

struct Candidate {
  Plan plan;
  Config config;            // of the GEMM family
  double predicted_us = 0;  // 0: no model
  bool is_baseline = false;
  bool in_space = true;      // false: a baseline that the space does not hold; measured, not counted
  bool engine_takes = true;  // may stand in an engine file

  Outcome outcome = Outcome::unrecorded;  // of its trial so far
  ValidateAnswer validation;
  double screen_us = 0;  // median
  bool stopped = false;  // its screen was given up early
  double race_us = 0;    // median; 0 when it did not race
};

struct CandidateList {
  std::vector<Candidate> candidates;  // the baseline first, then by predicted time, ties in enumeration order
  std::vector<Dropped> dropped;       // by constraints, then by predicted time
};

// Joins the tunable families' spaces into plans. Error(usage) when a family cannot run the workload on this GPU.
CandidateList list_candidates(const Problem& problem, const TuneOptions& options);

// Distinct kernels of all candidates, in the order they are needed.
std::vector<KernelSource> kernels_of(const Problem& problem, const std::vector<Candidate>& candidates);

}  // namespace moetune
