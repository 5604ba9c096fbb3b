// How a trial can end; the same closed list in journals, records, tables and tests.
#pragma once

#include <string>

namespace moetune {

enum class Outcome {
  ok,
  constraints,  // dropped by a space's constraint
  resources,    // needs more shared memory, registers or time than it can win with
  compile,      // NVRTC refused it
  launch,       // loading or launching failed
  memory,       // out of device memory
  timeout,      // no answer within the trial's deadline
  crash,        // the worker died or its context was poisoned
  wrong,        // the result differs from the reference
  unstable,     // samples too far apart to rank
  unrecorded,   // replay only: the journal does not hold this trial
};

const char* name_of(Outcome outcome);
Outcome outcome_from_name(const std::string& name);  // Error(usage) for an unknown name

}  // namespace moetune
