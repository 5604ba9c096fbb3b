// Help, version, usage errors and what a machine without a GPU is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "base/temp_folder.h"
#include "cli/command.h"

namespace moetune {
namespace {

class CommandLine : public testing::Test {
 protected:
  Ran run(const std::string& arguments) const { return moetune_in(folder_.path(), arguments); }

  // The message of a command line that must end with `code`, on one line, and must print nothing else.
  std::string error(int code, const std::string& arguments) const {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, code) << arguments << '\n' << ran.err;
    EXPECT_EQ(ran.out, "") << arguments;
    EXPECT_TRUE(ran.err.starts_with("moetune: error: ")) << arguments;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    return ran.err;
  }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path() / name) << text; }

  const TempFolder folder_;
};

TEST_F(CommandLine, HelpListsCommandsOptionsAndExitCodes) {
  const Ran ran = run("--help");
  EXPECT_EQ(ran.code, 0);
  for (const char* word :
       {"bench", "list", "doctor", "tune", "--model", "--save-dir", "--dry-run", "Exit codes: 0 done"}) {
    expect_has(ran.out, {word});
  }
  expect_has(ran.out, {}, {"worker process"});
  EXPECT_EQ(run("").out, ran.out);
  for (const std::string command : {"tune", "bench", "list", "doctor"}) {
    const Ran help = run(command + " --help");
    EXPECT_EQ(help.code, 0);
    expect_has(help.out, {"Usage: moetune " + command});
  }
}

// Every option says what happens without it.
TEST_F(CommandLine, HelpNamesDefaults) {
  std::istringstream help(run("tune --help").out + run("bench --help").out);
  int options = 0;
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with("  --")) continue;
    ++options;
    const bool flag = line.find("--fresh") != std::string::npos || line.find("--dry-run") != std::string::npos ||
                      line.find("--verbose") != std::string::npos;
    const bool required = line.find("--model") != std::string::npos || line.find("--winners") != std::string::npos;
    if (!flag && !required) expect_has(line, {"default"});
  }
  EXPECT_GT(options, 40);
}

TEST_F(CommandLine, EmptyValuesAreRefused) {
  for (const char* option : {"--tokens", "--save-dir", "--device"}) {
    const Ran ran = run(std::string("--model kimi-k2 --tp 4 --dry-run ") + option + " ''");
    EXPECT_EQ(ran.code, 2);
    expect_has(ran.err, {option, "empty value"});
  }
}

TEST_F(CommandLine, AFullStandardOutputIsAnError) {
  const Ran ran = run("list models >/dev/full");
  EXPECT_EQ(ran.code, 2);
  expect_has(ran.err, {"standard output"});
}

TEST_F(CommandLine, StartsAtOnce) {
  auto best = std::chrono::milliseconds::max();
  for (int i = 0; i < 10; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const Ran ran = run("--version");
    best =
        std::min(best, std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin));
    EXPECT_EQ(ran.code, 0);
    EXPECT_TRUE(std::regex_match(ran.out, std::regex("moetune [0-9.]+\n"))) << ran.out;
  }
  EXPECT_LT(best.count(), 50);
}

TEST_F(CommandLine, NeedsOnlyTheCLibrary) {
  const Ran ran = run_in(folder_.path(), std::string("ldd '") + MOETUNE_BINARY + "'");
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines(ran.out);
  for (std::string name; lines >> name; lines.ignore(4096, '\n')) {
    name = std::filesystem::path(name).filename().string();
    const std::vector<std::string> allowed = {"linux-vdso.so", "libc.so",  "libm.so",      "ld-linux",
                                              "libdl.so",      "librt.so", "libpthread.so"};
    EXPECT_TRUE(std::any_of(allowed.begin(), allowed.end(), [&](const auto& part) { return name.starts_with(part); }))
        << name;
  }
}

TEST_F(CommandLine, UnknownNamesComeWithTheNearest) {
  expect_has(error(2, "--model kimi-k3"), {"kimi-k2"});
  expect_has(error(2, "--model kimi-k2 --dtype fp8"), {"fp8_w8a8"});
  expect_has(error(2, "--model kimi-k2 --scales blok"), {"block"});
  expect_has(error(2, "--model kimi-k2 --routing unifrom --dry-run"), {"uniform"});
  expect_has(error(2, "--model kimi-k2 --dry-run --device replay:x"), {"replay"});
  expect_has(error(2, "--modle kimi-k2"), {"unknown option --modle", "--model"});
  expect_has(error(2, "bench --jsn x"), {"--json"}, {"--dry-run"});
  expect_has(error(2, "bnech"), {"unknown command bnech", "bench"});
  expect_has(error(2, "list modles"), {"models"});
  expect_has(error(2, "--model kimi-k2 --dry-run --arch sm_91"), {"sm_90a"});
  expect_has(error(2, "--model kimi-k2 --log-level loud"), {"debug"});
}

TEST_F(CommandLine, BadValues) {
  expect_has(error(2, "--model kimi-k2 --tp four"), {"--tp"});
  expect_has(error(2, "--model kimi-k2 --tp 0"), {"--tp"});
  expect_has(error(2, "--model kimi-k2 --tokens 0"), {"token"});
  expect_has(error(2, "--model kimi-k2 --routing heavy"), {"zipf"});
  expect_has(error(2, "--model kimi-k2 --device gpu0"), {"replay:NAME"});
  expect_has(error(2, "bench --model kimi-k2 --rounds 1"), {"--rounds"});
  expect_has(error(2, "bench --model kimi-k2 --config a --winners b"), {"not both"});
  expect_has(error(2, "bench --model kimi-k2 --config missing.json"), {"missing.json"});
  expect_has(error(2, "--tp 4"), {"--model"});
  expect_has(error(2, "--model kimi-k2 --arch sm_90a"), {"--dry-run"});
  expect_has(error(2, "list"), {"models"});
}

TEST_F(CommandLine, MissingAndMalformedConfigs) {
  expect_has(error(2, "--model nowhere/config.json"), {"nowhere/config.json"});
  write("broken.json", "{\"num_experts\": ");
  expect_has(error(2, "--model broken.json --dry-run"), {"broken.json"});
  write("partial.json", R"({"num_experts": 64, "hidden_size": 256, "num_experts_per_tok": 6})");
  expect_has(error(2, "--model partial.json --dry-run"), {"moe_intermediate_size", "--intermediate"});
}

// Before any tuning, and naming the folder: the device is asked for later.
TEST_F(CommandLine, UnwritableFolders) {
  write("file", "");
  expect_has(error(2, "--model kimi-k2 --save-dir file/inside"), {"--save-dir file/inside"});
  expect_has(error(2, "bench --model kimi-k2 --json file/inside/x.json"), {"--json"});
}

TEST_F(CommandLine, WithoutAGpu) {
  expect_has(error(3, "--model kimi-k2 --tp 4 --tokens 1"), {"replay", "doctor"});
  expect_has(error(3, "bench --model kimi-k2 --tokens 1"), {"replay"});
  const Ran doctor = run("doctor");
  EXPECT_EQ(doctor.code, 3);
  for (const char* word : {"moetune ", "driver ", "GPU ", "NVRTC ", "cache ", "replay ", "Tuning cannot run here"}) {
    expect_has(doctor.out, {word});
  }
  const Ran can_run = run("doctor --can-run --model kimi-k2 --tp 4");
  EXPECT_EQ(can_run.code, 3);
  EXPECT_EQ(can_run.out + can_run.err, "");
  expect_has(error(2, "doctor --can-run --model kimi-k3"), {"kimi-k2"});
  EXPECT_EQ(run("list devices").code, 0);
}

TEST_F(CommandLine, DoctorSaysHowToGetNvrtc) {
  const Ran doctor = run("doctor --nvrtc '" + folder_.path().string() + "'");
  EXPECT_EQ(doctor.code, 3);
  expect_has(doctor.out, {"not found", folder_.path().string(), "CUDA Toolkit", "NVRTC are missing"});
}

TEST_F(CommandLine, Lists) {
  expect_has(run("list models").out, {"kimi-k2 ", "384", "mixtral-8x7b "});
  expect_has(run("list families").out, {"grouped_gemm", "gemm1,gemm2"});
  expect_has(run("list spaces").out, {" points", "stages fit shared memory"});
}

}  // namespace
}  // namespace moetune
