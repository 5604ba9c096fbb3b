#include "jit/compile_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/json.h"
#include "base/process.h"
#include "jit/compile_json.h"

namespace moetune {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

CompileResult failure(const std::string& log) {
  CompileResult result;
  result.log = log;
  return result;
}

// One worker process, started at the first kernel and after an end.
class Worker {
 public:
  Worker(const std::vector<std::string>& command, std::string arch, Milliseconds deadline)
      : command_(command), arch_(std::move(arch)), deadline_(deadline) {}

  // `stop` ends the wait early; the result is then of no use.
  CompileResult compile(const KernelSource& source, const std::atomic<bool>& stop) {
    const Clock::time_point start = Clock::now();
    CompileResult result;
    try {
      result = ask(source, start + deadline_, stop);
    } catch (const std::exception& error) {
      child_.reset();
      result = failure(error.what());
    }
    if (result.seconds == 0) result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return result;
  }

 private:
  CompileResult ask(const KernelSource& source, Clock::time_point until, const std::atomic<bool>& stop) {
    send(one_line({{"file", source.file}, {"expression", source.expression}, {"arch", arch_}}));
    while (!stop) {
      // In short waits, so that a pool that is given up does not wait for a compile.
      constexpr Milliseconds slice(50);
      const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now());
      const ReadResult read = child_->read_line(std::clamp(left, Milliseconds(0), slice));
      if (read.status == ReadStatus::line) return answer(read.line);
      if (read.status == ReadStatus::closed) return failure("compile worker ended: " + end_child());
      if (Clock::now() < until) continue;
      end_child();
      CompileResult hung =
          failure("no answer from the compile worker within " + std::to_string(deadline_.count() / 1000.0) + " s");
      hung.timed_out = true;
      return hung;
    }
    return {};
  }

  // A worker that ended while idle is no fault of this kernel: one more start.
  void send(const std::string& line) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (!child_) child_.emplace(command_);
      if (child_->write_line(line)) return;
      if (attempt == 0) child_.reset();
    }
  }

  CompileResult answer(const std::string& line) {
    try {
      return compile_result_from_json(Json::parse(line));
    } catch (const std::exception&) {
      end_child();
      return failure("compile worker answered with something else than a result: " + line.substr(0, 200));
    }
  }

  std::string end_child() {
    const std::string how = child_->kill_and_describe();
    child_.reset();
    return how;
  }

  const std::vector<std::string>& command_;
  std::string arch_;
  Milliseconds deadline_;
  std::optional<ChildProcess> child_;
};

struct Job {
  KernelSource source;
  bool started = false;
  bool done = false;
  CompileResult result;
};

}  // namespace

struct CompilePool::Impl {
  std::string arch;
  std::size_t workers;
  Milliseconds deadline;
  std::vector<std::string> command;

  std::mutex mutex;
  std::condition_variable work, finished;
  std::atomic<bool> stop{false};
  // Guarded by the mutex; jobs stay for the life of the pool, so that asking again costs nothing.
  std::unordered_map<std::string, Job> jobs;
  std::deque<Job*> queue;
  std::vector<std::thread> threads;
  std::size_t idle = 0;
  double busy_seconds = 0;
  int compiled = 0;

  Job& add(const KernelSource& source, bool in_front) {
    const auto [entry, is_new] = jobs.try_emplace(source.key());
    Job& job = entry->second;
    if (is_new) job.source = source;
    if (!is_new && in_front && !job.started) std::erase(queue, &job);
    if (is_new || (in_front && !job.started)) queue.insert(in_front ? queue.begin() : queue.end(), &job);
    if (is_new && queue.size() > idle && threads.size() < workers) {
      threads.emplace_back([this] { serve(); });
      ++idle;
    }
    return job;
  }

  // One thread a worker: a process's answer is awaited where its kernel is known.
  void serve() {
    Worker worker(command, arch, deadline);
    std::unique_lock lock(mutex);
    while (true) {
      work.wait(lock, [this] { return stop || !queue.empty(); });
      if (stop) return;
      Job& job = *queue.front();
      queue.pop_front();
      job.started = true;
      --idle;
      lock.unlock();
      CompileResult result = worker.compile(job.source, stop);
      lock.lock();
      ++idle;
      if (stop) return;
      if (!result.cached) {
        busy_seconds += result.seconds;
        ++compiled;
      }
      job.result = std::move(result);
      job.done = true;
      finished.notify_all();
    }
  }
};

CompilePool::CompilePool(std::string arch, int workers, Milliseconds deadline, std::vector<std::string> worker_command)
    : impl_(std::make_unique<Impl>()) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  impl_->arch = std::move(arch);
  impl_->workers = static_cast<std::size_t>(workers > 0 ? workers : std::max(1, cores - 1));
  impl_->deadline = deadline;
  impl_->command = std::move(worker_command);
  if (impl_->command.empty()) impl_->command = {own_executable(), "worker", "compile"};
}

CompilePool::~CompilePool() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->work.notify_all();
  for (std::thread& thread : impl_->threads) thread.join();
}

void CompilePool::submit(const std::vector<KernelSource>& sources) {
  {
    const std::lock_guard lock(impl_->mutex);
    for (const KernelSource& source : sources) impl_->add(source, false);
  }
  impl_->work.notify_all();
}

CompileResult CompilePool::wait(const KernelSource& source) {
  std::unique_lock lock(impl_->mutex);
  const Job& job = impl_->add(source, true);
  impl_->work.notify_one();
  impl_->finished.wait(lock, [&] { return job.done; });
  return job.result;
}

double CompilePool::busy_seconds() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->busy_seconds;
}

int CompilePool::compiled() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->compiled;
}

}  // namespace moetune
