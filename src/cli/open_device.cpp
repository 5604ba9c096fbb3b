#include "cli/open_device.h"

#include <fmt/format.h>

#include <iostream>

#include "base/error.h"
#include "base/text.h"
#include "cli/logging.h"
#include "results/journal_files.h"
#include "results/journal_header.h"
#include "tune/local_executor.h"

namespace moetune {

namespace {

namespace fs = std::filesystem;

OpenedDevice replay_journal(Journal journal, const WorkloadArguments& arguments, const Workload& workload,
                            const std::string& command_line) {
  const RunIdentity recorded = run_identity_from_header(journal.header);
  OpenedDevice opened;
  opened.replayed = true;
  opened.executor = std::make_unique<RecordedExecutor>(journal);
  opened.run = run_identity(*opened.executor, workload, routing_of(arguments), arguments.seed, command_line);
  for (const std::string& warning : check_replay_header(journal.header, opened.run)) {
    log_warning(warning);
  }
  // Decisions draw from the recorded run's seed, so that the same samples lead to the same winners.
  opened.run.seed = recorded.seed;
  return opened;
}

OpenedDevice open_replay(const DeviceArguments& device, const WorkloadArguments& arguments, const Workload& workload,
                         const std::string& command_line) {
  const fs::path path = find_journal(device.device, workload);
  Journal journal = read_journal(path);
  log_info(fmt::format("replaying {} ({} events)", path.string(), journal.events.size()));
  try {
    return replay_journal(std::move(journal), arguments, workload, command_line);
  } catch (const Error& error) {
    throw Error(error.code(), path.string() + ": " + error.what());
  }
}

// Whoever has no GPU is told of the way that needs none.
std::unique_ptr<Executor> open_local(const LocalOptions& options) {
  try {
    return make_local_executor(options);
  } catch (const Error& error) {
    if (error.code() != ExitCode::no_device) throw;
    std::vector<std::string> names;
    for (const RecordedDevice& device : recorded_devices()) names.push_back("--device replay:" + device.name);
    const std::string replay = names.empty() ? "--device replay:NAME" : join(names, " or ");
    throw Error(ExitCode::no_device, std::string(error.what()) + "; moetune doctor says what is missing, and " +
                                         replay + " runs on a recorded GPU instead");
  }
}

}  // namespace

OpenedDevice open_device(const DeviceArguments& device, const WorkloadArguments& arguments, const Workload& workload,
                         const fs::path& journal_path, int max_tokens, bool fresh, const std::string& command_line) {
  if (is_replay(device)) return open_replay(device, arguments, workload, command_line);
  LocalOptions options;
  options.workload = workload;
  options.routing = routing_of(arguments);
  options.seed = arguments.seed;
  options.device = ordinal_of(device);
  options.max_tokens = max_tokens;
  options.compile_workers = device.compile_workers;
  std::unique_ptr<Executor> local = open_local(options);
  OpenedDevice opened;
  opened.run = run_identity(*local, workload, options.routing, options.seed, command_line);
  const Json header = make_journal_header(opened.run);
  Journal recorded;
  recorded.header = header;
  if (!fresh && !journal_path.empty() && fs::exists(journal_path) && has_whole_header(journal_path)) {
    Journal previous = read_journal(journal_path);
    const auto differences = header_differences(previous.header, opened.run);
    if (differences.empty()) {
      recorded = std::move(previous);
      opened.resumed = true;
      std::cerr << fmt::format("moetune: going on from {} ({} events); --fresh starts anew\n", journal_path.string(),
                               recorded.events.size());
    } else {
      std::cerr << fmt::format("moetune: {} is of another run and kept beside it ({})\n", journal_path.string(),
                               differences.front().text);
    }
  }
  std::unique_ptr<JournalWriter> writer;
  if (!journal_path.empty()) writer = std::make_unique<JournalWriter>(journal_path, header, opened.resumed);
  opened.executor = std::make_unique<RecordedExecutor>(std::move(recorded), std::move(local), std::move(writer));
  return opened;
}

}  // namespace moetune
