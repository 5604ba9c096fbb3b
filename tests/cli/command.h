// Runs the real binary the way a user does.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace moetune {

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void expect_has(const std::string& text, const std::vector<std::string>& parts,
                       const std::vector<std::string>& absent = {}) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
  for (const std::string& part : absent) EXPECT_EQ(text.find(part), std::string::npos) << part << " is in: " << text;
}

inline bool matches(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex(pattern));
}

struct Ran {
  int code = -1;  // 128 + signal when it was killed
  std::string out, err;
};

// A shell command in `folder`. `environment`: assignments before it, e.g. "A=1 B=2".
inline Ran run_in(const std::filesystem::path& folder, const std::string& command,
                  const std::string& environment = "") {
  const std::filesystem::path errors = folder / "stderr.txt";
  FILE* pipe = ::popen(
      ("cd '" + folder.string() + "' && " + environment + " " + command + " 2>'" + errors.string() + "'").c_str(), "r");
  Ran ran;
  if (pipe == nullptr) return ran;
  char block[4096];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, pipe)) > 0;) ran.out.append(block, n);
  const int status = ::pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.err = text_of(errors);
  std::filesystem::remove(errors);
  return ran;
}

// moetune with these arguments (shell syntax), where no GPU is visible and only recorded results of `folder` are found.
inline Ran moetune_in(const std::filesystem::path& folder, const std::string& arguments) {
  return run_in(folder, std::string("'") + MOETUNE_BINARY + "' " + arguments,
                "CUDA_VISIBLE_DEVICES=-1 MOETUNE_RESULTS_DIR= MOETUNE_CACHE_DIR='" + (folder / "cache").string() + "'");
}

}  // namespace moetune
