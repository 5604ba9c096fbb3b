#include <fmt/format.h>

#include <algorithm>

#include "report/console.h"

namespace moetune {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds terminal_interval{100}, pipe_interval{10'000};

milliseconds steady_now() {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

// Where each stage begins within a token count's work.
double stage_start(const std::string& stage) {
  if (stage == "race") return 0.85;
  if (stage == "final") return 0.90;
  if (stage == "report") return 0.95;
  return 0;
}

std::string bar(double fraction) {
  constexpr int width = 20;
  const auto filled = static_cast<std::size_t>(fraction * width);
  return '[' + std::string(filled, '#') + std::string(width - filled, '.') + ']';
}

std::string progress_text(const TuneProgress& progress, milliseconds elapsed, bool with_bar) {
  const double fraction = fraction_done(progress);
  std::string text = with_bar ? bar(fraction) + ' ' : "";
  text += fmt::format("{:3.0f}%  M {} ({}/{})  {} {}/{}", 100 * fraction, progress.tokens, progress.token_index + 1,
                      progress.token_count, progress.stage, progress.done, progress.total);
  if (progress.best_us > 0) text += fmt::format("  best {:.1f} us", progress.best_us);
  // The first few trials wait for their compiles and say little of the rest.
  if (fraction > 0.002) {
    const double left_ms = static_cast<double>(elapsed.count()) * (1 - fraction) / fraction;
    text += "  ETA " + clock_text(seconds(static_cast<std::int64_t>(left_ms / 1000 + 0.5)));
  }
  return text;
}

}  // namespace

double fraction_done(const TuneProgress& progress) {
  if (progress.token_count < 1) return 0;
  const double length = progress.stage == "screen" ? 0.85 : 0.05;
  const double in_stage = progress.total > 0 ? static_cast<double>(progress.done) / progress.total : 0;
  const double in_tokens = stage_start(progress.stage) + length * in_stage;
  return std::clamp((progress.token_index + in_tokens) / progress.token_count, 0.0, 1.0);
}

std::string clock_text(seconds duration) {
  const auto total = duration.count();
  if (total < 3600) return fmt::format("{}:{:02}", total / 60, total % 60);
  return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

ProgressPrinter::ProgressPrinter(std::ostream& out, bool terminal) : ProgressPrinter(out, terminal, steady_now) {}

ProgressPrinter::ProgressPrinter(std::ostream& out, bool terminal, Clock clock)
    : out_(out), terminal_(terminal), clock_(std::move(clock)), started_(clock_()), printed_(started_) {}

void ProgressPrinter::print(const TuneProgress& progress) {
  const milliseconds now = clock_();
  // A pipe's first line may wait its turn too: a run of a few seconds then prints none.
  const bool due = now - printed_ >= (terminal_ ? terminal_interval : pipe_interval);
  if (!due && (any_printed_ || !terminal_)) return;
  printed_ = now;
  any_printed_ = true;
  const std::string text = progress_text(progress, now - started_, terminal_);
  if (!terminal_) {
    out_ << text << '\n' << std::flush;
    return;
  }
  const std::string rest(line_width_ > text.size() ? line_width_ - text.size() : 0, ' ');
  out_ << '\r' << text << rest << std::flush;
  line_width_ = text.size();
}

void ProgressPrinter::clear() {
  if (line_width_ == 0) return;
  out_ << '\r' << std::string(line_width_, ' ') << '\r' << std::flush;
  line_width_ = 0;
}

}  // namespace moetune
