#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/logging.h"
#include "cli/open_device.h"
#include "report/console.h"
#include "results/journal_files.h"
#include "results/record.h"
#include "results/winners.h"
#include "tune/records.h"
#include "tune/tuner.h"

namespace moetune {

namespace {

namespace fs = std::filesystem;

volatile sig_atomic_t interrupt_asked = 0;

// Ctrl-C (or a batch system's SIGTERM) asks once for a clean end; a second one ends at once.
void on_interrupt(int number) {
  interrupt_asked = 1;
  signal(number, SIG_DFL);
}

struct OutputPaths {
  fs::path engine, native, journal;
};

fs::path journal_path(const TuneArguments& arguments, const Workload& w) {
  return fs::path(arguments.save_dir) / "journals" / journal_file_name(w);
}

OutputPaths output_paths(const TuneArguments& arguments, const Workload& w, const std::string& device) {
  const fs::path folder = arguments.save_dir;
  return {folder / engine_file_name(w, device), folder / native_file_name(w), journal_path(arguments, w)};
}

// What an earlier run left in `winners` that this run keeps; says so when it is of something else.
Json rows_to_keep(const fs::path& winners, const RunIdentity& run) {
  const fs::path path = record_path(winners);
  if (!fs::exists(winners) || !fs::exists(path)) return Json::object();
  try {
    const EarlierRows earlier = earlier_rows(read_record(path), run);
    if (earlier.difference.empty()) return earlier.rows;
    log_warning(fmt::format("{} {} and will be replaced", winners.string(), earlier.difference));
  } catch (const std::exception& error) {  // it is about to be replaced
    log_warning(fmt::format("cannot tell what {} holds: {}", winners.string(), error.what()));
  }
  return Json::object();
}

// Winners and their records. Token counts are independent: those of an earlier run stay until this run replaces them.
class Outputs {
 public:
  Outputs(const OutputPaths& paths, const OpenedDevice& device, const Workload& workload)
      : paths_(paths),
        device_(device),
        workload_(workload),
        kept_engine_(rows_to_keep(paths.engine, device.run)),
        kept_native_(rows_to_keep(paths.native, device.run)) {
    if (!kept_engine_.empty()) {
      for (const auto& [tokens, config] : read_engine_file(paths.engine)) engine_[tokens] = config;
    }
    if (!kept_native_.empty()) native_ = read_native_file(paths.native).winners;
  }

  void add(const TokenResult& result) {
    results_.push_back(result);
    if (result.engine.found) engine_[result.tokens] = result.engine.winner.config;
    if (result.native.found) {
      native_[result.tokens] = {result.native.winner.plan, result.native.winner.time_us.median};
    }
    write(true);
  }

  // Winner files hold what was decided and nothing of this run, so that a replay reproduces them byte for byte.
  void write(bool unfinished) const {
    RecordContext context;
    context.run = device_.run;
    context.replayed = device_.replayed;
    context.interrupted = unfinished;
    context.tuning_wall_s = seconds();
    context.compile_seconds = device_.executor->compile_seconds();
    context.gpu_seconds = device_.executor->gpu_seconds();
    if (!engine_.empty()) {
      write_file_atomically(paths_.engine, engine_file_text(engine_));
      write_file_atomically(record_path(paths_.engine),
                            record_text(with_earlier_rows(engine_record(context, results_), kept_engine_)));
    }
    if (!native_.empty()) {
      write_file_atomically(paths_.native, native_file_text(workload_, device_.run.device.name, native_));
      write_file_atomically(record_path(paths_.native),
                            record_text(with_earlier_rows(native_record(context, results_), kept_native_)));
    }
  }

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count(); }
  bool empty() const { return results_.empty() || (engine_.empty() && native_.empty()); }

  void print_paths() const {
    if (!engine_.empty())
      std::cout << "wrote " << paths_.engine.string() << '\n' << "      " << engine_values_note << '\n';
    if (!native_.empty()) std::cout << "wrote " << paths_.native.string() << '\n';
    if (!device_.replayed) std::cout << "wrote " << paths_.journal.string() << '\n';
  }

 private:
  OutputPaths paths_;
  const OpenedDevice& device_;
  Workload workload_;
  Json kept_engine_, kept_native_;
  std::vector<TokenResult> results_;
  std::map<int, Config> engine_;
  std::map<int, NativeWinner> native_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace

ExitCode run_tune(const TuneArguments& arguments) {
  apply(arguments.device);
  const Workload workload = workload_of(arguments.workload);
  TuneOptions options;
  options.tokens = tokens_of(arguments.workload);
  check_writable(arguments.save_dir, "--save-dir");
  const fs::path journal = journal_path(arguments, workload);
  const int most = *std::max_element(options.tokens.begin(), options.tokens.end());
  OpenedDevice device = open_device(arguments.device, arguments.workload, workload, journal, most, arguments.fresh,
                                    arguments.command_line);
  options.seed = device.run.seed;
  const OutputPaths paths = output_paths(arguments, workload, device.run.device.name);

  Outputs outputs(paths, device, workload);
  ProgressPrinter progress(std::cerr, isatty(STDERR_FILENO) != 0);
  TuneHooks hooks;
  hooks.progress = [&](const TuneProgress& p) { progress.print(p); };
  hooks.interrupted = [] { return interrupt_asked != 0; };
  hooks.token_done = [&](const TokenResult& result) {
    progress.clear();
    outputs.add(result);
    print_token_row(std::cout, workload, result);
    std::cout.flush();
  };
  signal(SIGINT, on_interrupt);
  signal(SIGTERM, on_interrupt);
  std::cout << fmt::format("{} on {}{}\n", workload_slug(workload), device.run.device.name,
                           device.replayed ? " (replayed from a journal)" : "");
  print_token_header(std::cout);
  const TuneResult result = tune(workload, options, *device.executor, hooks);
  progress.clear();
  outputs.write(result.interrupted);
  outputs.print_paths();
  std::cout << fmt::format("{} token counts in {}\n", result.tokens.size(),
                           clock_text(std::chrono::seconds(static_cast<long>(outputs.seconds() + 0.5))));
  const int unrecorded = device.executor->counts().unrecorded;
  if (unrecorded > 0) log_warning(fmt::format("{} trials were not in the journal; they cannot win", unrecorded));
  if (!result.interrupted) {
    if (!outputs.empty()) return ExitCode::ok;
    std::cerr << "moetune: no candidate ran; nothing was written (the rows above count the outcomes)\n";
    return ExitCode::check_failed;
  }
  std::cerr << "moetune: interrupted; what was finished is written, and the same command goes on from there\n";
  return ExitCode::interrupted;
}

}  // namespace moetune
