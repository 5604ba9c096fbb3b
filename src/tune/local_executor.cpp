#include "tune/local_executor.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/process.h"
#include "gpu/driver.h"
#include "jit/compile_pool.h"
#include "jit/nvrtc.h"
#include "kernels/family.h"
#include "measure/layer_data.h"

namespace moetune {

std::int64_t device_bytes_needed(const Workload& w, int max_tokens, int weight_sets) {
  const std::int64_t slots = static_cast<std::int64_t>(max_tokens) * w.topk;
  const std::int64_t reference = slots * (w.hidden + 3ll * w.shard()) * 4;
  constexpr std::int64_t context = 1ll << 30;
  return weight_sets * weight_set_bytes(w) + call_buffers_bytes(w, max_tokens, 16) + reference + context;
}

namespace {

using Clock = std::chrono::steady_clock;

// What came of a request to the worker: its answer, or how it ended.
struct Reply {
  bool answered = false;
  Json answer;
  Outcome outcome = Outcome::crash;
  std::string log;
};

class LocalExecutor : public Executor {
 public:
  explicit LocalExecutor(const LocalOptions& options) : options_(options), nvrtc_(require_nvrtc()) {
    const Json answer = start_worker();
    limits_ = gpu_limits_from_json(answer.at("limits"));
    check_driver();
    check_size(answer.at("free_bytes").get<std::int64_t>());
    pool_ = std::make_unique<CompilePool>(limits_.arch, options.compile_workers);
  }

  GpuLimits limits() override { return limits_; }

  Json environment() override {
    Json digests;
    for (const Family& f : families()) digests[f.name] = family_digest(f);
    return {{"tool", MOETUNE_VERSION},
            {"driver", fmt::format("{}.{}", limits_.driver_version / 1000, limits_.driver_version % 1000 / 10)},
            {"nvrtc", nvrtc_.version()},
            {"kernel_digests", digests}};
  }

  void prefetch(const std::vector<KernelSource>& kernels) override { pool_->submit(kernels); }

  CompileAnswer compile(const KernelSource& kernel) override {
    const CompileResult result = pool_->wait(kernel);
    CompileAnswer answer;
    answer.outcome = result.ok ? Outcome::ok : result.timed_out ? Outcome::timeout : Outcome::compile;
    answer.registers = result.registers;
    answer.spill_bytes = result.spill_bytes;
    if (!result.ok) answer.log = result.log;
    return answer;
  }

  ProblemAnswer open(int tokens) override {
    tokens_ = tokens;
    const Reply reply = ask({{"op", "open"}, {"tokens", tokens}}, options_.open_deadline);
    if (reply.answered) return problem_answer_from_json(reply.answer);
    ProblemAnswer answer;
    answer.outcome = reply.outcome;
    answer.log = reply.log;
    return answer;
  }

  ValidateAnswer validate(const Plan& plan) override {
    const Reply reply = ask_open({{"op", "validate"}, {"plan", to_json(plan)}});
    if (reply.answered) return validate_answer_from_json(reply.answer);
    ValidateAnswer answer;
    answer.outcome = reply.outcome;
    answer.log = reply.log;
    return answer;
  }

  MeasureAnswer measure(const MeasureRequest& request) override {
    const Reply reply = ask_open({{"op", "measure"}, {"request", to_json(request)}});
    if (reply.answered) return measure_answer_from_json(reply.answer);
    MeasureAnswer answer;
    answer.outcome = reply.outcome;
    answer.log = reply.log;
    return answer;
  }

  double gpu_seconds() const override { return gpu_seconds_; }
  double compile_seconds() const override { return pool_->busy_seconds(); }

 private:
  Json start_worker() {
    worker_ = std::make_unique<ChildProcess>(std::vector<std::string>{own_executable(), "worker", "device"});
    const Json request = {{"op", "start"},
                          {"device", options_.device},
                          {"workload", to_json(options_.workload)},
                          {"routing", to_json(options_.routing)},
                          {"seed", options_.seed}};
    const Reply reply = exchange(request, options_.open_deadline);
    if (!reply.answered) throw Error(ExitCode::no_device, "the device worker did not start: " + reply.log);
    if (!reply.answer.contains("limits")) {
      throw Error(ExitCode::no_device,
                  "the device worker did not start: " + reply.answer.value("log", "no reason given"));
    }
    return reply.answer;
  }

  // Sends and waits. A worker that died, hung or poisoned its context is stopped and left for the next start.
  Reply exchange(const Json& request, std::chrono::milliseconds deadline) {
    const auto begin = Clock::now();
    Reply reply;
    if (!worker_->write_line(request.dump())) {
      reply.log = "device worker ended: " + worker_->kill_and_describe();
      worker_.reset();
      return reply;
    }
    const ReadResult read = worker_->read_line(deadline);
    gpu_seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
    if (read.status != ReadStatus::line) {
      reply.outcome = read.status == ReadStatus::timeout ? Outcome::timeout : Outcome::crash;
      const std::string ended = worker_->kill_and_describe();
      reply.log = read.status == ReadStatus::timeout
                      ? fmt::format("no answer within {} s; the worker was stopped", deadline.count() / 1000)
                      : "device worker ended: " + ended;
      worker_.reset();
      return reply;
    }
    reply.answer = Json::parse(read.line);
    if (reply.answer.contains("error")) {
      throw Error(static_cast<ExitCode>(reply.answer.at("exit_code").get<int>()),
                  reply.answer.at("error").get<std::string>());
    }
    const std::string outcome = reply.answer.value("outcome", "ok");
    if (outcome == name_of(Outcome::crash)) worker_.reset();
    reply.answered = true;
    return reply;
  }

  Reply ask(const Json& request, std::chrono::milliseconds deadline) {
    if (!worker_) start_worker();
    return exchange(request, deadline);
  }

  Reply ask_open(const Json& request) {
    if (!worker_) {
      start_worker();
      const ProblemAnswer answer = open(tokens_);
      if (answer.outcome != Outcome::ok) {
        throw Error(ExitCode::internal, "the restarted device worker could not prepare its inputs: " + answer.log);
      }
    }
    return exchange(request, options_.trial_deadline);
  }

  void check_driver() const {
    const std::string problem = driver_too_old(limits_.driver_version, nvrtc_.major, nvrtc_.minor);
    if (!problem.empty()) throw Error(ExitCode::no_device, problem);
    if (!nvrtc_supports(limits_.arch)) {
      throw Error(ExitCode::no_device,
                  fmt::format("NVRTC {} ({}) cannot compile for {} ({}); point --nvrtc at a newer one",
                              nvrtc_.version(), nvrtc_.path, limits_.name, limits_.arch));
    }
  }

  void check_size(std::int64_t free_bytes) const {
    constexpr int most_tokens = 65535;  // one row of the combine kernel's grid each
    if (options_.max_tokens > most_tokens) {
      throw Error(ExitCode::usage, fmt::format("{} tokens in one call are more than the kernels take ({}); leave them "
                                               "out of --tokens",
                                               options_.max_tokens, most_tokens));
    }
    const std::int64_t need = device_bytes_needed(options_.workload, options_.max_tokens, 1);
    if (need > free_bytes) {
      throw Error(ExitCode::usage,
                  fmt::format("{} tokens need {:.1f} GB on the GPU and {} has {:.1f} GB free; use more "
                              "ranks (--tp, --ep) or fewer --tokens",
                              options_.max_tokens, need / 1e9, limits_.name, free_bytes / 1e9));
    }
  }

  LocalOptions options_;
  NvrtcFound nvrtc_;
  GpuLimits limits_;
  std::unique_ptr<ChildProcess> worker_;
  std::unique_ptr<CompilePool> pool_;
  int tokens_ = 0;
  double gpu_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Executor> make_local_executor(const LocalOptions& options) {
  return std::make_unique<LocalExecutor>(options);
}

}  // namespace moetune
