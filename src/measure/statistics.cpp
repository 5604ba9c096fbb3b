#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "base/error.h"
#include "base/random.h"

namespace moetune {
namespace {

constexpr double smallest_band = 0.01;  // a finer difference than 1 % is not claimed, however quiet the samples

// `samples` hold no NaN and at least one value. Reorders them.
double quantile_in_place(std::vector<double>& samples, double p) {
  const double position = p * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(samples.begin(), at, samples.end());
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0) return *at;
  const double next = *std::min_element(at + 1, samples.end());
  return *at + fraction * (next - *at);
}

double standard_deviation(const std::vector<double>& samples, double mean) {
  if (samples.size() < 2) return 0;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

}  // namespace

double quantile(std::vector<double> samples, double p) {
  // NaN has no order: sorting it would be undefined.
  const bool has_nan = std::any_of(samples.begin(), samples.end(), [](double sample) { return std::isnan(sample); });
  if (samples.empty() || has_nan) return std::numeric_limits<double>::quiet_NaN();
  return quantile_in_place(samples, std::clamp(p, 0.0, 1.0));
}

double median(std::vector<double> samples) { return quantile(std::move(samples), 0.5); }

Summary summarise(const std::vector<double>& samples) {
  Summary summary;
  if (samples.empty()) return summary;
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  summary.median = median(samples);
  summary.p10 = quantile(samples, 0.1);
  summary.p90 = quantile(samples, 0.9);
  summary.min = quantile(samples, 0.0);
  summary.cv = standard_deviation(samples, mean) / mean;
  summary.samples = static_cast<int>(samples.size());
  return summary;
}

PairedRatio paired_ratio(const std::vector<double>& a, const std::vector<double>& b, std::uint64_t seed,
                         int resamples) {
  if (a.size() != b.size() || a.empty() || resamples < 1) {
    throw Error(ExitCode::internal, "a paired ratio needs as many samples of one as of the other, found " +
                                        std::to_string(a.size()) + " and " + std::to_string(b.size()));
  }
  std::vector<double> ratios(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) ratios[i] = a[i] / b[i];

  Random random(seed);
  std::vector<double> medians(static_cast<std::size_t>(resamples));
  std::vector<double> drawn(ratios.size());
  for (double& resampled : medians) {
    for (double& ratio : drawn) ratio = ratios[random.below(static_cast<std::uint32_t>(ratios.size()))];
    resampled = median(drawn);
  }

  PairedRatio result;
  result.ratio = median(ratios);
  result.band.low = std::min(quantile(medians, 0.025), result.ratio * (1 - smallest_band));
  result.band.high = std::max(quantile(medians, 0.975), result.ratio * (1 + smallest_band));
  return result;
}

}  // namespace moetune
