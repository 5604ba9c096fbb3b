// NVRTC: kernel source to cubin.
#pragma once

#include <string>
#include <vector>

namespace moetune {

// One kernel instantiation. `file` is an embedded path ("kernels/moe/grouped_gemm.cu"), `expression` the C++ name of
// the kernel ("moetune::grouped_gemm<moetune::Bf16, 16, 64, ...>").
struct KernelSource {
  std::string file;
  std::string expression;

  std::string key() const { return file + ":" + expression; }
  bool operator==(const KernelSource&) const = default;
};

struct CompileResult {
  bool ok = false;
  bool timed_out = false;
  std::string cubin_path;  // in the cache
  std::string entry;       // lowered (mangled) name
  int registers = 0;       // per thread
  int spill_bytes = 0;     // spill stores + loads, per thread
  int static_shared_bytes = 0;
  double seconds = 0;  // of compiling; the first compile's when cached
  bool cached = false;
  std::string log;
};

// Everything that names the cubin: the source file with its own includes, expression, arch, options and NVRTC version.
std::string compile_key(const KernelSource& source, const std::string& arch, const std::string& nvrtc_version);

// Digest of the file and the files it includes (kernels/ only).
std::string source_digest(const std::string& file);

// Compiles in this process, through the cache. `nvrtc` as found by find_nvrtc().
CompileResult compile(const KernelSource& source, const std::string& arch);

// Registers, spills, static shared memory out of ptxas' -v output (the last function reported).
void parse_ptxas_log(const std::string& log, CompileResult& result);

}  // namespace moetune
