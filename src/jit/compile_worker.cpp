#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "base/json.h"
#include "jit/compile_json.h"
#include "jit/compile_pool.h"

namespace moetune {
namespace {

CompileResult compile_request(const std::string& line) {
  try {
    const Json request = Json::parse(line);
    const KernelSource source{request.at("file").get<std::string>(), request.at("expression").get<std::string>()};
    return compile(source, request.at("arch").get<std::string>());
  } catch (const std::exception& error) {
    CompileResult failed;
    failed.log = error.what();
    return failed;
  }
}

}  // namespace

int run_compile_worker() {
  // Compiling runs beside measuring and must not take the core that launches kernels.
  if (::nice(5) == -1) {
    // Not worth a word: it is only a courtesy.
  }
  // Answers go to the pipe that was standard output; what a library prints goes to standard error and cannot mix in.
  FILE* answers = ::fdopen(::dup(STDOUT_FILENO), "w");
  if (answers == nullptr || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::string answer = one_line(to_json(compile_request(line))) + "\n";
    if (std::fwrite(answer.data(), 1, answer.size(), answers) != answer.size() || std::fflush(answers) != 0) break;
  }
  std::fclose(answers);
  return 0;
}

}  // namespace moetune
