// Statistics of timing samples. Pure functions; samples in microseconds.
#pragma once

#include <cstdint>
#include <vector>

namespace moetune {

struct Summary {
  double median = 0, p10 = 0, p90 = 0, min = 0;
  double cv = 0;  // sample standard deviation (n - 1) / mean; 0 for one sample
  int samples = 0;
};

// Linear interpolation between order statistics (type 7); p in [0, 1]. NaN for no samples.
double quantile(std::vector<double> samples, double p);
double median(std::vector<double> samples);
// All zero for no samples.
Summary summarise(const std::vector<double>& samples);

struct Interval {
  double low = 0, high = 0;
};

// A paired comparison: sample i of both was taken in the same round.
struct PairedRatio {
  double ratio = 1;  // median of a[i] / b[i]
  Interval band;     // 95 % percentile bootstrap of that median, widened to at least ratio * (1 +- 1 %)
};
// Deterministic in `seed`. a and b have equal, non-zero length (Error(internal) otherwise).
PairedRatio paired_ratio(const std::vector<double>& a, const std::vector<double>& b, std::uint64_t seed,
                         int resamples = 1000);

}  // namespace moetune
