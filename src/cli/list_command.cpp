#include <fmt/format.h>

#include <iostream>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "gpu/driver.h"
#include "kernels/family.h"
#include "results/journal_files.h"
#include "space/space.h"

namespace moetune {

namespace {

std::string or_unknown(const std::optional<int>& value) { return value ? std::to_string(*value) : "?"; }

void list_models() {
  std::cout << fmt::format("{:<22} {:>7} {:>5} {:>7} {:>12}  {}\n", "model", "experts", "top-k", "hidden",
                           "intermediate", "checkpoint's dtype");
  for (const ModelFacts& m : model_presets()) {
    std::string dtype = m.dtype ? name_of(*m.dtype) : m.unsupported;
    if (m.block_shape) dtype += fmt::format(" [{},{}]", m.block_shape->n, m.block_shape->k);
    std::cout << fmt::format("{:<22} {:>7} {:>5} {:>7} {:>12}  {}\n", m.name, or_unknown(m.experts), or_unknown(m.topk),
                             or_unknown(m.hidden), or_unknown(m.intermediate), dtype);
  }
}

void list_families() {
  for (const Family& f : families()) {
    std::vector<std::string> steps;
    for (const Step step : f.steps) steps.emplace_back(name_of(step));
    std::cout << fmt::format("{:<14} {:<13} {:<14} {}\n", f.name, join(steps, ","), f.space.empty() ? "-" : f.space,
                             f.description);
  }
}

void list_spaces() {
  for (const std::string& name : space_names()) {
    const Space space = load_space(name);
    std::cout << fmt::format("{}: {} points; default {}\n", space.name, space.points(), key_of(space.default_config));
    for (const Parameter& p : space.parameters)
      std::cout << fmt::format("  {:<14} {}\n", p.name, fmt::join(p.values, " "));
    for (const Constraint& c : space.constraints) std::cout << fmt::format("  {} ({})\n", c.name, name_of(c.outcome));
  }
}

void list_devices() {
  const DriverState state = driver_state();
  for (std::size_t i = 0; i < state.devices.size(); ++i) std::cout << fmt::format("{} {}\n", i, state.devices[i]);
  if (state.devices.empty()) std::cout << "no GPU: " << state.problem << '\n';
  // What --device takes, so that a line can be copied.
  for (const RecordedDevice& d : recorded_devices()) {
    std::cout << fmt::format("replay:{} {}\n", d.name, join(d.workloads, " "));
  }
}

}  // namespace

ExitCode run_list(const std::string& what) {
  if (what == "models") {
    list_models();
  } else if (what == "families") {
    list_families();
  } else if (what == "spaces") {
    list_spaces();
  } else if (what == "devices") {
    list_devices();
  } else {
    const std::vector<std::string> known = nearest_names(what, {"models", "families", "spaces", "devices"}, 4);
    throw Error(ExitCode::usage, (what.empty() ? "list needs a word" : "cannot list '" + what + "'") + "; known are " +
                                     join(known, ", "));
  }
  return ExitCode::ok;
}

}  // namespace moetune
