// Diagnostics to standard error (spdlog); results go to standard output and files.
#pragma once

#include <string>

namespace moetune {

void set_up_logging(const std::string& level);  // Error(usage) for an unknown level

// spdlog's headers cost seconds to compile; only logging.cpp includes them.
void log_info(const std::string& text);
void log_warning(const std::string& text);

}  // namespace moetune
