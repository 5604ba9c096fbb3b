// The child process that owns the GPU: one JSON request a line, one JSON answer a line.
#include <iostream>
#include <memory>

#include "base/error.h"
#include "measure/layer_bench.h"
#include "tune/local_executor.h"

namespace moetune {

namespace {

struct Worker {
  std::unique_ptr<Device> device;
  std::unique_ptr<LayerBench> bench;

  Json start(const Json& request) {
    device = std::make_unique<Device>(request.at("device").get<int>());
    bench = std::make_unique<LayerBench>(*device, workload_from_json(request.at("workload")),
                                         routing_spec_from_json(request.at("routing")),
                                         request.at("seed").get<std::uint64_t>());
    return {{"limits", to_json(device->limits())},
            {"free_bytes", device->free_memory()},
            {"driver_version", device->limits().driver_version}};
  }

  Json answer(const Json& request) {
    const std::string op = request.at("op").get<std::string>();
    if (op == "start") return start(request);
    if (!bench) throw Error(ExitCode::internal, "the worker has not been started");
    if (op == "open") return to_json(bench->open(request.at("tokens").get<int>()));
    if (op == "validate") return to_json(bench->validate(plan_from_json(request.at("plan"))));
    if (op == "measure") return to_json(bench->measure(measure_request_from_json(request.at("request"))));
    throw Error(ExitCode::internal, "unknown request " + op);
  }
};

// A failed launch leaves the context usable; anything that poisons it ends the worker, and the parent starts a new one.
Json failure(const GpuError& error) {
  const Outcome outcome = error.out_of_memory()     ? Outcome::memory
                          : error.poisons_context() ? Outcome::crash
                                                    : Outcome::launch;
  return {{"outcome", name_of(outcome)}, {"log", error.what()}};
}

}  // namespace

int run_device_worker() {
  Worker worker;
  for (std::string line; std::getline(std::cin, line);) {
    Json answer;
    bool poisoned = false;
    try {
      answer = worker.answer(Json::parse(line));
    } catch (const GpuError& error) {
      answer = failure(error);
      poisoned = error.poisons_context();
    } catch (const Error& error) {
      answer = {{"error", error.what()}, {"exit_code", static_cast<int>(error.code())}};
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}, {"exit_code", static_cast<int>(ExitCode::internal)}};
    }
    std::cout << answer.dump() << '\n' << std::flush;
    // Destructors of a poisoned context would only fail one by one.
    if (poisoned) std::_Exit(1);
  }
  return 0;
}

}  // namespace moetune
