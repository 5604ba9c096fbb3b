#include "jit/compile.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "jit/cache.h"
#include "jit/jit_folders.h"
#include "jit/nvrtc.h"

namespace moetune {
namespace {

const KernelSource kScale{"kernels/moe/scale.cu", "moetune::scale<64>"};

// Printed by NVRTC 13.0 and 12.4.
constexpr const char* kLog13 =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function '_Z5first' for 'sm_90a'\n"
    "ptxas info    : Function properties for _Z5first\n"
    "ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
    "ptxas info    : Used 255 registers, used 1 barriers, 99 bytes smem\n"
    "ptxas info    : Compiling entry function '_Z1kILi40EEvPfPi' for 'sm_90a'\n"
    "ptxas info    : Function properties for _Z1kILi40EEvPfPi\n"
    "ptxas         .     160 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
    "ptxas info    : Used 32 registers, used 1 barriers, 160 bytes cumulative stack size, 512 bytes smem, 368 bytes "
    "cmem[0]\n"
    "ptxas info    : Compile time = 37.457 ms\n";
constexpr const char* kLog12 =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function '_Z4lean' for 'sm_80'\n"
    "ptxas info    : Function properties for _Z4lean\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 8 registers, 352 bytes cmem[0]\n";

class Compile : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_nvrtc()) GTEST_SKIP() << "no NVRTC on this machine";
  }
  JitFolders folders_;
};

}  // namespace

TEST(PtxasLog, TheLastFunctionCounts) {
  CompileResult result;
  parse_ptxas_log(kLog13, result);
  EXPECT_EQ(result.registers, 32);
  EXPECT_EQ(result.spill_bytes, 32);
  EXPECT_EQ(result.static_shared_bytes, 512);
}

TEST(PtxasLog, UnlessTheEntryIsNamed) {
  CompileResult result;
  result.entry = "_Z5first";
  parse_ptxas_log(kLog13, result);
  EXPECT_EQ(result.registers, 255);
  EXPECT_EQ(result.spill_bytes, 8);
  EXPECT_EQ(result.static_shared_bytes, 99);
}

TEST(PtxasLog, NumbersThatAreNotThereAreZero) {
  CompileResult result;
  result.spill_bytes = result.static_shared_bytes = 7;
  parse_ptxas_log(kLog12, result);
  EXPECT_EQ(result.registers, 8);
  EXPECT_EQ(result.spill_bytes, 0);
  EXPECT_EQ(result.static_shared_bytes, 0);
  parse_ptxas_log("", result);
  EXPECT_EQ(result.registers, 0);
}

TEST_F(Compile, ToCubinsForTwoArchitectures) {
  for (const char* arch : {"sm_90a", "sm_80"}) {
    const CompileResult result = compile(kScale, arch);
    ASSERT_TRUE(result.ok) << result.log;
    EXPECT_FALSE(result.cached);
    EXPECT_NE(result.entry.find("5scaleILi64EE"), std::string::npos) << result.entry;
    EXPECT_EQ(result.static_shared_bytes, 256);
    EXPECT_GT(result.registers, 0);
    EXPECT_EQ(result.spill_bytes, 0);
    EXPECT_GT(result.seconds, 0);
    EXPECT_EQ(read_file(result.cubin_path).substr(1, 3), "ELF");
  }
}

TEST_F(Compile, TheSecondTimeComesFromTheCache) {
  const CompileResult first = compile(kScale, "sm_80");
  const CompileResult second = compile(kScale, "sm_80");
  EXPECT_FALSE(first.cached);
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(second.entry, first.entry);
  EXPECT_EQ(second.cubin_path, first.cubin_path);
  EXPECT_EQ(second.registers, first.registers);
  EXPECT_EQ(second.seconds, first.seconds);
}

TEST_F(Compile, AChangedHeaderIsANewKernel) {
  const CompileResult first = compile(kScale, "sm_80");
  folders_.add("kernels/ptx/types.cuh", "#pragma once\nusing f32 = float; using f64 = double;\n");
  const CompileResult second = compile(kScale, "sm_80");
  EXPECT_FALSE(second.cached);
  EXPECT_NE(second.cubin_path, first.cubin_path);
}

TEST_F(Compile, ADamagedEntryIsCompiledAgain) {
  const CompileResult first = compile(kScale, "sm_80");
  std::string cubin = read_file(first.cubin_path);
  const std::string whole = cubin;
  cubin[cubin.size() / 2] ^= 1;
  write_file_atomically(first.cubin_path, cubin);
  const CompileResult second = compile(kScale, "sm_80");
  EXPECT_TRUE(second.ok);
  EXPECT_FALSE(second.cached);
  EXPECT_EQ(read_file(second.cubin_path), whole);
  write_file_atomically(std::filesystem::path(first.cubin_path).parent_path() / "meta.json", "{\"torn");
  EXPECT_FALSE(compile(kScale, "sm_80").cached);
  EXPECT_TRUE(compile(kScale, "sm_80").cached);
}

TEST_F(Compile, ARefusedSourceHasTheLogAndIsCachedToo) {
  folders_.add("kernels/moe/bad.cu",
               "template <int N> __global__ void bad() { static_assert(N > 3, \"too small\"); }\n");
  const CompileResult result = compile({"kernels/moe/bad.cu", "bad<2>"}, "sm_80");
  EXPECT_FALSE(result.ok);
  EXPECT_TRUE(result.cubin_path.empty());
  EXPECT_NE(result.log.find("too small"), std::string::npos) << result.log;
  EXPECT_NE(result.log.find("kernels/moe/bad.cu(1)"), std::string::npos) << result.log;
  const CompileResult again = compile({"kernels/moe/bad.cu", "bad<2>"}, "sm_80");
  EXPECT_TRUE(again.cached);
  EXPECT_EQ(again.log, result.log);
}

TEST_F(Compile, AMissingHeaderIsNamedByTheLog) {
  folders_.add("kernels/moe/lost.cu", "#include \"ptx/lost.cuh\"\n__global__ void lost() {}\n");
  const CompileResult result = compile({"kernels/moe/lost.cu", "lost"}, "sm_80");
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.log.find("ptx/lost.cuh"), std::string::npos) << result.log;
}

TEST_F(Compile, ACacheThatCannotBeWrittenIsAUsageError) {
  write_file_atomically(folders_.cache().parent_path() / "file", "");
  set_cache_folder(folders_.cache().parent_path() / "file");
  try {
    compile(kScale, "sm_80");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("--cache-dir"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("/file"), std::string::npos);
  }
}

TEST_F(Compile, KnowsWhichArchitecturesNvrtcTakes) {
  EXPECT_TRUE(nvrtc_supports("sm_90a"));
  EXPECT_FALSE(nvrtc_supports("sm_999"));
}

TEST(CompileKey, ChangesWithEachPart) {
  const JitFolders folders;
  const std::string key = compile_key(kScale, "sm_80", "13.0");
  EXPECT_EQ(key, compile_key(kScale, "sm_80", "13.0"));
  EXPECT_NE(key, compile_key(kScale, "sm_90a", "13.0"));
  EXPECT_NE(key, compile_key(kScale, "sm_80", "12.8"));
  EXPECT_NE(key, compile_key({kScale.file, "moetune::scale<32>"}, "sm_80", "13.0"));
  folders.add("kernels/ptx/other.cuh", "not included");
  EXPECT_EQ(key, compile_key(kScale, "sm_80", "13.0"));
  folders.add("kernels/ptx/types.cuh", "using f32 = double;");
  EXPECT_NE(key, compile_key(kScale, "sm_80", "13.0"));
}

}  // namespace moetune
