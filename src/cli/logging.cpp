#include "cli/logging.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/error.h"

namespace moetune {

void set_up_logging(const std::string& level) {
  const spdlog::level::level_enum parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") {
    throw Error(ExitCode::usage, "unknown log level '" + level + "'; use debug, info, warn, error or off");
  }
  spdlog::set_default_logger(spdlog::stderr_logger_mt("moetune"));
  spdlog::set_pattern("moetune: %l: %v");
  spdlog::set_level(parsed);
}

void log_info(const std::string& text) { spdlog::info("{}", text); }

void log_warning(const std::string& text) { spdlog::warn("{}", text); }

}  // namespace moetune
