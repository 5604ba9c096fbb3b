#include "tune/recorded_executor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "kernels/family.h"

namespace moetune {
namespace {

constexpr const char* kFloorKey = "floor";

Json compile_event(const std::string& kernel, const CompileAnswer& answer) {
  Json body = {{"kernel", kernel},
               {"outcome", name_of(answer.outcome)},
               {"registers", answer.registers},
               {"spill_bytes", answer.spill_bytes}};
  if (answer.outcome != Outcome::ok) body["log"] = answer.log;
  return {{"compile", std::move(body)}};
}

CompileAnswer compile_answer(const Json& body) {
  CompileAnswer answer;
  answer.outcome = outcome_from_name(body.at("outcome").get<std::string>());
  answer.registers = body.at("registers").get<int>();
  answer.spill_bytes = body.at("spill_bytes").get<int>();
  answer.log = body.value("log", std::string());
  return answer;
}

template <typename Answer>
Json event_of(const char* kind, Json body, const Answer& answer) {
  body.update(to_json(answer));
  Json event = Json::object();
  event[kind] = std::move(body);
  return event;
}

// JSON has no NaN or infinity: this run must see what its replay will see.
ValidateAnswer without_nan(ValidateAnswer answer) {
  for (double* error : {&answer.rel_err, &answer.worst_token_err}) {
    if (!std::isfinite(*error)) *error = 0;
  }
  return answer;
}

std::vector<std::string> keys_of(const MeasureRequest& request) {
  if (request.quantity == Quantity::floor) return {kFloorKey};
  std::vector<std::string> keys;
  for (const Plan& plan : request.plans) keys.push_back(key_of(plan));
  return keys;
}

std::string place_key(int tokens, const std::string& plan) { return std::to_string(tokens) + '\n' + plan; }

std::string sample_key(int tokens, const std::string& quantity, const std::string& plan) {
  return std::to_string(tokens) + '\n' + quantity + '\n' + plan;
}

std::string request_key(int tokens, const std::string& quantity, const std::string& stage,
                        const std::vector<std::string>& plans) {
  return sample_key(tokens, quantity, stage + '\n' + join(plans, "\n"));
}

std::string list(const std::map<int, ProblemAnswer>& opens) {
  std::vector<std::string> tokens;
  for (const auto& [count, answer] : opens) tokens.push_back(std::to_string(count));
  return tokens.empty() ? "none" : join(tokens, ", ");
}

bool stops(const MeasureRequest& request, double sample) {
  return request.stop_above_us > 0 && request.plans.size() == 1 && sample > request.stop_above_us;
}

// Whether a recorded answer is what the request would give: all rounds, or an early stop.
bool answers(const MeasureAnswer& recorded, const MeasureRequest& request) {
  if (recorded.outcome != Outcome::ok) return true;
  const auto rounds = static_cast<std::size_t>(request.rounds);
  return std::all_of(recorded.samples_us.begin(), recorded.samples_us.end(), [&](const std::vector<double>& samples) {
    return samples.size() == rounds || (!samples.empty() && stops(request, samples.back()));
  });
}

}  // namespace

RunIdentity run_identity(Executor& executor, const Workload& workload, const RoutingSpec& routing, std::uint64_t seed,
                         const std::string& command_line) {
  RunIdentity run;
  run.device = executor.limits();
  run.environment = executor.environment();
  run.workload = workload;
  run.routing = routing;
  run.seed = seed;
  for (const Family& f : families()) run.kernel_digests[f.name] = family_digest(f);
  run.command_line = command_line;
  return run;
}

RecordedExecutor::RecordedExecutor(Journal recorded) : RecordedExecutor(std::move(recorded), nullptr, nullptr) {}

RecordedExecutor::RecordedExecutor(Journal recorded, std::unique_ptr<Executor> inner,
                                   std::unique_ptr<JournalWriter> writer)
    : header_(std::move(recorded.header)), inner_(std::move(inner)), writer_(std::move(writer)) {
  for (std::size_t i = 0; i < recorded.events.size(); ++i) {
    try {
      index(recorded.events[i]);
    } catch (const std::exception& error) {  // Json::exception or an unknown name
      throw Error(ExitCode::usage, "journal line " + std::to_string(i + 2) + ": " + error.what());
    }
  }
}

void RecordedExecutor::index(const Json& event) {
  // Every event has one member; kinds that a newer version writes are skipped.
  if (!event.is_object() || event.empty()) throw Error(ExitCode::usage, "not an event: " + event.dump());
  const std::string& kind = event.begin().key();
  const Json& body = event.begin().value();
  if (kind == "measure") {
    index_measure(body);
  } else if (kind == "validate") {
    validations_[place_key(body.at("tokens").get<int>(), body.at("plan").get_ref<const std::string&>())]
        .answers.push_back(validate_answer_from_json(body));
  } else if (kind == "compile") {
    const std::string& kernel = body.at("kernel").get_ref<const std::string&>();
    compiles_[kernel] = compile_answer(body);
    uncompiled_.insert(kernel);
  } else if (kind == "open") {
    opens_[body.at("tokens").get<int>()] = problem_answer_from_json(body);
  }
}

void RecordedExecutor::index_measure(const Json& measure) {
  const int tokens = measure.at("tokens").get<int>();
  const std::string& quantity = measure.at("quantity").get_ref<const std::string&>();
  const auto plans = measure.at("plans").get<std::vector<std::string>>();
  MeasureAnswer answer = measure_answer_from_json(measure);
  if (answer.outcome == Outcome::ok && answer.samples_us.size() != plans.size()) {
    throw Error(ExitCode::usage, "samples of " + std::to_string(answer.samples_us.size()) + " plans, but " +
                                     std::to_string(plans.size()) + " plans");
  }
  if (!inner_) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      Samples& samples = samples_[sample_key(tokens, quantity, plans[i])];
      if (answer.outcome == Outcome::ok) {
        samples.us.insert(samples.us.end(), answer.samples_us[i].begin(), answer.samples_us[i].end());
      } else if (plans.size() == 1) {
        samples.failure = answer;
      }
    }
    if (answer.outcome == Outcome::ok) answer.samples_us.clear();  // kept per plan
  }
  requests_[request_key(tokens, quantity, measure.value("stage", std::string()), plans)].answers.push_back(
      std::move(answer));
}

// The next recorded answer; replay begins anew after the last one.
template <typename Answer>
const Answer* RecordedExecutor::take(std::unordered_map<std::string, Series<Answer>>& all, const std::string& key) {
  const auto found = all.find(key);
  if (found == all.end()) return nullptr;
  Series<Answer>& series = found->second;
  if (series.next == series.answers.size()) {
    if (inner_) return nullptr;
    series.next = 0;
  }
  return &series.answers[series.next++];
}

GpuLimits RecordedExecutor::limits() { return inner_ ? inner_->limits() : gpu_limits_from_json(header_.at("device")); }

Json RecordedExecutor::environment() {
  if (inner_) return inner_->environment();
  Json environment = header_.value("environment", Json::object());
  if (header_.contains("kernel_digests")) environment["kernel_digests"] = header_["kernel_digests"];
  return environment;
}

void RecordedExecutor::prefetch(const std::vector<KernelSource>& kernels) {
  if (!inner_) return;
  std::vector<KernelSource> unknown;
  for (const KernelSource& kernel : kernels) {
    const std::string key = kernel.key();
    if (compiles_.count(key) == 0) {
      unknown.push_back(kernel);
    } else if (uncompiled_.count(key) != 0) {
      held_.push_back(kernel);
    }
  }
  if (!unknown.empty()) inner_->prefetch(unknown);
}

CompileAnswer RecordedExecutor::compile(const KernelSource& kernel) {
  const std::string key = kernel.key();
  const auto known = compiles_.find(key);
  if (known != compiles_.end()) return known->second;
  if (!inner_) return {};
  CompileAnswer answer = inner_->compile(kernel);
  if (writer_) writer_->append(compile_event(key, answer));
  if (answer.outcome == Outcome::ok) answer.log.clear();  // as a replay would answer
  return compiles_[key] = answer;
}

ProblemAnswer RecordedExecutor::open(int tokens) {
  tokens_ = tokens;
  const auto known = opens_.find(tokens);
  if (known != opens_.end()) {
    ++counts_.recorded;
    return known->second;
  }
  if (!inner_) {
    ++counts_.unrecorded;
    ProblemAnswer answer;
    answer.log = "the journal's token counts are " + list(opens_);
    return answer;
  }
  ++counts_.live;
  inner_tokens_ = tokens;
  const ProblemAnswer answer = inner_->open(tokens);
  if (writer_) writer_->append(event_of("open", {{"tokens", tokens}}, answer));
  return opens_[tokens] = answer;
}

// Opens the token count and compiles the plans' kernels on the inner executor where only the journal has done so.
Outcome RecordedExecutor::ready(const std::vector<Plan>& plans, std::string& log) {
  if (!held_.empty()) inner_->prefetch(std::exchange(held_, {}));
  if (inner_tokens_ != tokens_) {
    const ProblemAnswer opened = inner_->open(tokens_);
    if (opened.outcome != Outcome::ok) {
      log = "preparing token count " + std::to_string(tokens_) + ": " + opened.log;
      return opened.outcome;
    }
    inner_tokens_ = tokens_;
  }
  if (uncompiled_.empty()) return Outcome::ok;
  const Problem problem{workload_from_json(header_.at("workload")), tokens_, inner_->limits()};
  for (const Plan& plan : plans) {
    for (const KernelSource& kernel : kernels_of(problem, plan)) {
      if (uncompiled_.erase(kernel.key()) != 0) inner_->compile(kernel);
    }
  }
  return Outcome::ok;
}

ValidateAnswer RecordedExecutor::validate(const Plan& plan) {
  const std::string key = key_of(plan);
  if (const ValidateAnswer* recorded = take(validations_, place_key(tokens_, key))) {
    ++counts_.recorded;
    return *recorded;
  }
  ValidateAnswer answer;
  if (!inner_) {
    ++counts_.unrecorded;
    return answer;
  }
  ++counts_.live;
  answer.outcome = ready({plan}, answer.log);
  if (answer.outcome != Outcome::ok) return answer;
  answer = without_nan(inner_->validate(plan));
  if (writer_) writer_->append(event_of("validate", {{"tokens", tokens_}, {"plan", key}}, answer));
  return answer;
}

MeasureAnswer RecordedExecutor::measure(const MeasureRequest& request) {
  if (!inner_) {
    MeasureAnswer answer = replay(request);
    ++(answer.outcome == Outcome::unrecorded ? counts_.unrecorded : counts_.recorded);
    return answer;
  }
  const std::vector<std::string> keys = keys_of(request);
  const std::string quantity = name_of(request.quantity);
  const MeasureAnswer* recorded = take(requests_, request_key(tokens_, quantity, request.stage, keys));
  if (recorded != nullptr && answers(*recorded, request)) {
    ++counts_.recorded;
    return *recorded;
  }
  ++counts_.live;
  MeasureAnswer answer;
  answer.outcome = ready(request.plans, answer.log);
  if (answer.outcome != Outcome::ok) return answer;
  answer = inner_->measure(request);
  if (writer_) {
    const Json body = {{"tokens", tokens_}, {"quantity", quantity}, {"stage", request.stage}, {"plans", keys}};
    writer_->append(event_of("measure", body, answer));
  }
  return answer;
}

std::vector<double> RecordedExecutor::serve(Samples& samples, const MeasureRequest& request) {
  std::vector<double> served;
  for (int round = 0; round < request.rounds; ++round) {
    served.push_back(samples.us[samples.next]);
    samples.next = (samples.next + 1) % samples.us.size();
    if (stops(request, served.back())) break;
  }
  return served;
}

// A request that is in the journal as it stands fails when it failed there; all others are put together per plan.
MeasureAnswer RecordedExecutor::replay(const MeasureRequest& request) {
  const std::vector<std::string> keys = keys_of(request);
  const std::string quantity = name_of(request.quantity);
  const MeasureAnswer* same = take(requests_, request_key(tokens_, quantity, request.stage, keys));
  if (same != nullptr && same->outcome != Outcome::ok) return *same;

  MeasureAnswer answer;
  std::vector<Samples*> series;
  std::vector<std::string> lacking;
  for (const std::string& key : keys) {
    const auto found = samples_.find(sample_key(tokens_, quantity, key));
    const bool failed = found != samples_.end() && found->second.failure.outcome != Outcome::unrecorded;
    if (failed && same == nullptr) return found->second.failure;
    if (found == samples_.end() || found->second.us.empty()) {
      lacking.push_back(key);
    } else {
      series.push_back(&found->second);
    }
  }
  if (!lacking.empty()) {
    answer.log = "the journal has no " + quantity + " samples of " + join(lacking, " and ");
    return answer;
  }
  answer.outcome = Outcome::ok;
  for (Samples* samples : series) answer.samples_us.push_back(serve(*samples, request));
  return answer;
}

}  // namespace moetune
