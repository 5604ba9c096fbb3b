// Errors that reach the user: one line saying what is wrong, what was found and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace moetune {

// The closed list of exit codes (docs/architecture.md).
enum class ExitCode {
  ok = 0,
  check_failed = 1,  // a regression, a lint finding, a comparison that failed
  usage = 2,         // wrong option, value or input file
  no_device = 3,     // no usable device, driver or NVRTC
  interrupted = 4,   // partial results are written
  internal = 5,
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace moetune
