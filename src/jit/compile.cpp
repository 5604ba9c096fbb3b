#include "jit/compile.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"
#include "jit/cache.h"
#include "jit/embedded.h"
#include "jit/nvrtc.h"

namespace moetune {
namespace {

using Header = std::pair<std::string, std::string>;  // name in #include "...", text

constexpr std::string_view kRoot = "kernels/";

// Part of every key: raise it when what is stored or how sources are compiled changes in a way the key does not show.
constexpr std::string_view kKeyVersion = "moetune.cubin/1";

// The names in `#include "..."` lines. Those in comments or under an #if are included too: harmless, as the compiler
// takes only what it asks for.
std::vector<std::string> quoted_includes(std::string_view text) {
  std::vector<std::string> names;
  const std::string_view directive = "include";
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1)) {
    std::string_view rest = text.substr(at + 1, text.find('\n', at) - at - 1);
    const auto skip_blanks = [&] { rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); };
    skip_blanks();
    if (!rest.starts_with(directive)) continue;
    rest.remove_prefix(directive.size());
    skip_blanks();
    if (!rest.starts_with('"')) continue;
    const std::size_t end = rest.find('"', 1);
    if (end != std::string_view::npos) names.emplace_back(rest.substr(1, end - 1));
  }
  return names;
}

// The file's own and its headers' includes, each once, in the order of first mention. A name that is no file below
// kernels/ is left to the compiler, whose log then names the line.
std::vector<Header> headers_of(const std::string& text) {
  const std::vector<std::string> known = embedded_files(kRoot);
  std::vector<Header> headers;
  std::vector<std::string> waiting = quoted_includes(text);
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const std::string name = waiting[i];
    const std::string path = std::string(kRoot) + name;
    if (std::find(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(i), name) !=
            waiting.begin() + static_cast<std::ptrdiff_t>(i) ||
        !std::binary_search(known.begin(), known.end(), path)) {
      continue;
    }
    headers.emplace_back(name, embedded_file(path));
    const std::vector<std::string> more = quoted_includes(headers.back().second);
    waiting.insert(waiting.end(), more.begin(), more.end());
  }
  return headers;
}

// The only place that chooses compiler options. `nvrtc_version` as NvrtcFound::version().
std::vector<std::string> compile_options(const std::string& arch, const std::string& nvrtc_version) {
  std::vector<std::string> options = {"--gpu-architecture=" + arch, "--std=c++17",
                                      "--device-as-default-execution-space", "--ptxas-options=-v"};
  int major = 0, minor = 0;
  if (std::sscanf(nvrtc_version.c_str(), "%d.%d", &major, &minor) == 2) {
    // Leaves out built-in declarations that the kernels do not use: tens of milliseconds a kernel.
    if (major > 12 || (major == 12 && minor >= 4)) options.emplace_back("--minimal");
    // The compile time is reported, so it has to be one; our own cache keeps results.
    if (major >= 13) options.emplace_back("--no-cache");
  }
  return options;
}

std::string digest_of(const std::string& file, const std::string& text, const std::vector<Header>& headers) {
  // Lengths between the parts, so that moving text from one file to the next changes the digest.
  std::string all = file + "\n" + std::to_string(text.size()) + "\n" + text;
  for (const auto& [name, header] : headers) all += name + "\n" + std::to_string(header.size()) + "\n" + header;
  return digest(all);
}

std::string key_of(const std::string& sources, const std::string& expression, const std::string& arch,
                   const std::string& nvrtc_version) {
  return digest(join(
      {std::string(kKeyVersion), sources, expression, nvrtc_version, join(compile_options(arch, nvrtc_version), " ")},
      "\n"));
}

// The number that ends right before `words` in `line`, or 0.
int number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == std::string_view::npos || end == 0) return 0;
  const std::size_t last = line.find_last_not_of("0123456789", end - 1);
  const std::size_t begin = last == std::string_view::npos ? 0 : last + 1;
  int number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

// The part of the log about one entry function: `entry` when it is named there, else the last one.
std::string_view entry_part(std::string_view log, const std::string& entry) {
  const std::string_view mark = "Compiling entry function '";
  std::size_t begin = entry.empty() ? std::string_view::npos : log.find(std::string(mark) + entry + "'");
  if (begin == std::string_view::npos) begin = log.rfind(mark);
  if (begin == std::string_view::npos) return log;
  return log.substr(begin, log.find(mark, begin + 1) - begin);
}

}  // namespace

std::string source_digest(const std::string& file) {
  const std::string text = embedded_file(file);
  return digest_of(file, text, headers_of(text));
}

std::string compile_key(const KernelSource& source, const std::string& arch, const std::string& nvrtc_version) {
  return key_of(source_digest(source.file), source.expression, arch, nvrtc_version);
}

CompileResult compile(const KernelSource& source, const std::string& arch) {
  const std::string version = require_nvrtc().version();
  const std::string text = embedded_file(source.file);
  const std::vector<Header> headers = headers_of(text);
  const std::string key = key_of(digest_of(source.file, text, headers), source.expression, arch, version);
  if (auto known = cache_lookup(key)) return *known;

  const auto start = std::chrono::steady_clock::now();
  NvrtcProgramResult program =
      nvrtc_compile(text, source.file, headers, source.expression, compile_options(arch, version));
  CompileResult result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.ok = program.ok;
  result.entry = std::move(program.lowered_name);
  result.log = std::move(program.log);
  if (result.ok) parse_ptxas_log(result.log, result);
  return cache_store(key, result, program.cubin);
}

void parse_ptxas_log(const std::string& log, CompileResult& result) {
  result.registers = result.spill_bytes = result.static_shared_bytes = 0;
  for (const std::string& line : split(entry_part(log, result.entry), '\n')) {
    // Functions that were not inlined have spill lines of their own; the kernel runs them too.
    result.spill_bytes += number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
    if (line.find(": Used ") == std::string::npos) continue;
    result.registers = number_before(line, " registers");
    result.static_shared_bytes = number_before(line, " bytes smem");
  }
}

}  // namespace moetune
