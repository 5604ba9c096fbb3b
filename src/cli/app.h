// The command line: parses, runs the command, prints errors, picks the exit code.
#pragma once

namespace moetune {

int run_app(int argc, char** argv);

}  // namespace moetune
