#include "cli/app.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/logging.h"
#include "jit/compile_pool.h"
#include "tune/local_executor.h"

namespace moetune {

namespace {

struct Arguments {
  TuneArguments tune;
  BenchArguments bench;
  DoctorArguments doctor;
  std::string list_what;
  std::string worker_kind;
  std::string log_level = "warn";
  bool verbose = false;
};

std::string quoted_command(int argc, char** argv) {
  std::vector<std::string> words = {"moetune"};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool plain = !word.empty() && word.find_first_of(" \t'\"$*?;&|<>()[]{}\\!") == std::string::npos;
    words.push_back(plain ? word : "'" + word + "'");
  }
  return join(words, " ");
}

void add_log_options(CLI::App& app, Arguments& a) {
  app.add_option("--log-level", a.log_level, "Diagnostics to stderr: debug, info, warn, error or off; default warn")
      ->type_name("NAME")
      ->group("Messages");
  app.add_flag("--verbose", a.verbose, "The same as --log-level info")->group("Messages");
}

void add_tune_options(CLI::App& app, TuneArguments& a) {
  add_workload_options(app, a.workload);
  add_device_options(app, a.device);
  app.add_option("--arch", a.arch,
                 "With --dry-run: for this target instead, e.g. sm_90a; default: --device, without a GPU H200")
      ->type_name("NAME")
      ->group("Device");
  app.add_option("--save-dir", a.save_dir, "Folder for winners, records and the journal; default . (this folder)")
      ->type_name("DIR")
      ->group("Output");
  app.add_flag("--fresh", a.fresh, "Start anew instead of resuming the journal in --save-dir")->group("Output");
  app.add_flag("--dry-run", a.dry_run, "Print workload, output names, candidates and memory need; run nothing")
      ->group("Output");
}

void add_bench_options(CLI::App& app, BenchArguments& a) {
  add_workload_options(app, a.workload);
  add_device_options(app, a.device);
  app.add_option("--config", a.config_file, "Engine file to measure; default: the engine's rule without a file")
      ->type_name("FILE")
      ->group("What to measure");
  app.add_option("--winners", a.winners_file, "Native winners file to measure (native/MODEL-DTYPE-tpN.json)")
      ->type_name("FILE")
      ->group("What to measure");
  app.add_option("--rounds", a.rounds, "Samples of each quantity; default 25")
      ->type_name("N")
      ->check(CLI::Range(3, 1000).description(""))
      ->group("What to measure");
  app.add_option("--json", a.json_file, "File for the rows, moetune.bench/1; default: none")
      ->type_name("FILE")
      ->group("Output");
}

void add_doctor_options(CLI::App& app, DoctorArguments& a) {
  add_workload_options(app, a.workload);
  add_device_options(app, a.device);
  app.add_flag("--can-run", a.can_run, "Print nothing; exit code 0 when the GPU can tune the workload, else 3")
      ->group("Answer");
  app.add_flag("--device-name", a.device_name, "Print only the GPU's name as engine files spell it")->group("Answer");
}

void add_commands(CLI::App& app, Arguments& a) {
  app.name("moetune");
  app.set_version_flag("--version", std::string("moetune ") + MOETUNE_VERSION);
  app.require_subcommand(0, 1);
  app.footer(
      "Exit codes: 0 done, 1 a check failed, 2 wrong usage or input, 3 no usable GPU, driver or NVRTC,\n"
      "            4 interrupted (what was finished is written), 5 internal error");
  add_tune_options(app, a.tune);
  add_tune_options(*app.add_subcommand("tune", "Tune a workload; the command when none is named"), a.tune);
  add_bench_options(*app.add_subcommand(
                        "bench", "Measure an engine file, native winners or the engine's default rule, without tuning"),
                    a.bench);
  app.add_subcommand("list", "List models, families, spaces or devices")
      ->add_option("what", a.list_what, "models, families, spaces or devices");
  add_doctor_options(*app.add_subcommand("doctor", "What tuning needs, what is missing here, and how to get it"),
                     a.doctor);
  for (CLI::App* one : app.get_subcommands({})) add_log_options(*one, a);
  add_log_options(app, a);
  // An empty group hides it from the help text.
  app.add_subcommand("worker", "A worker process of moetune itself")
      ->group("")
      ->add_option("kind", a.worker_kind)
      ->required()
      ->check(CLI::IsMember({"compile", "device"}));
}

// The word that no option or command of `app` has; empty when that was not the fault.
std::string unknown_word(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining(true);
  const auto option = std::find_if(extras.begin(), extras.end(), [](const auto& word) { return word[0] == '-'; });
  if (option != extras.end()) return option->substr(0, option->find('='));
  return extras.empty() ? "" : extras.front();
}

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string help = "; see moetune " + (chosen.empty() ? "" : command.get_name() + " ") + "--help";
  const std::string word = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ? unknown_word(app) : "";
  if (word.empty()) {
    const std::string text = error.what();
    return text.substr(0, text.find('\n')) + help;
  }
  std::vector<std::string> names;
  const bool is_option = word[0] == '-';
  if (is_option) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  } else if (chosen.empty()) {
    for (const CLI::App* one : app.get_subcommands({})) {
      if (!one->get_group().empty()) names.push_back(one->get_name());
    }
  }
  const std::vector<std::string> near = nearest_names(word, names);
  return std::string("unknown ") +
         (is_option        ? "option "
          : chosen.empty() ? "command "
                           : "argument ") +
         word + (near.empty() ? "" : "; nearest: " + join(near, ", ")) + help;
}

// An unset shell variable must not quietly start the full job.
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string> values = option->count() > 0 ? option->results() : std::vector<std::string>();
    if (std::find(values.begin(), values.end(), "") != values.end()) {
      throw Error(ExitCode::usage, option->get_name() + " has an empty value; leave it out for the default");
    }
  }
  for (const CLI::App* command : app.get_subcommands()) refuse_empty_values(*command);
}

ExitCode run_command(const CLI::App& app, Arguments& a, int argc) {
  set_up_logging(a.verbose ? "info" : a.log_level);
  if (app.got_subcommand("worker")) {
    return static_cast<ExitCode>(a.worker_kind == "compile" ? run_compile_worker() : run_device_worker());
  }
  if (app.got_subcommand("bench")) return run_bench(a.bench);
  if (app.got_subcommand("list")) return run_list(a.list_what);
  if (app.got_subcommand("doctor")) return run_doctor(a.doctor);
  if (argc == 1) {
    std::cout << app.help();
    return ExitCode::ok;
  }
  if (a.tune.dry_run) return run_dry(a.tune);
  if (!a.tune.arch.empty()) {
    throw Error(ExitCode::usage, "--arch goes with --dry-run: kernels are tuned for the GPU that runs them");
  }
  return run_tune(a.tune);
}

ExitCode dispatch(int argc, char** argv) {
  Arguments arguments;
  arguments.tune.command_line = arguments.bench.command_line = quoted_command(argc, argv);
  CLI::App app{
      "Tunes the MoE kernels of a model's layer on the local GPU, checks every candidate, and writes the winners."};
  add_commands(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help and --version
    app.exit(asked);
    return ExitCode::ok;
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::usage, usage_message(app, error));
  }
  refuse_empty_values(app);
  return run_command(app, arguments, argc);
}

}  // namespace

int run_app(int argc, char** argv) {
  try {
    const ExitCode code = dispatch(argc, argv);
    if (!std::cout.flush()) throw Error(ExitCode::usage, "cannot write to standard output");
    return static_cast<int>(code);
  } catch (const Error& error) {
    std::cerr << "moetune: error: " << error.what() << '\n';
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "moetune: internal error: " << error.what() << '\n';
    return static_cast<int>(ExitCode::internal);
  }
}

}  // namespace moetune
