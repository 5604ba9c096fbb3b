#include "measure/layer_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/random.h"
#include "measure/rotation.h"

namespace moetune {

namespace {

// Calls in one graph: enough for a replay of about a millisecond, and different routings within it.
int calls_for(const Workload& w, int tokens, double bandwidth) {
  const double bytes =
      expected_active_experts(w, tokens) * static_cast<double>(w1_bytes_per_expert(w) + w2_bytes_per_expert(w));
  const double call_us = bytes / (bandwidth > 0 ? bandwidth : 1e12) * 1e6 + 10;
  return std::clamp(static_cast<int>(std::ceil(900.0 / call_us)), 1, 16);
}

// Largest errors a right kernel has. Kernels differ from the reference in summation order only, but a 16-bit rounding
// that falls the other way can move the largest value of a group, its e4m3 scale, and with it the group's codes: one
// token in thousands then differs by about 1 %. Measured values are in docs/measuring.md.
struct Tolerance {
  double rel_err, worst_token, worst_element;
};
Tolerance tolerance_of(const Workload& w) {
  return w.dtype == Dtype::fp8_w8a8 ? Tolerance{0.004, 0.02, 0.25} : Tolerance{0.004, 0.008, 0.1};
}

bool part_of(Quantity quantity, Step step) {
  switch (quantity) {
    case Quantity::rank:
      return step == Step::sort || step == Step::gemm1 || step == Step::gemm2;
    case Quantity::gemm1:
      return step == Step::gemm1;
    case Quantity::gemm2:
      return step == Step::gemm2;
    case Quantity::pair:
      return step == Step::gemm1 || step == Step::gemm2;
    case Quantity::op:
      return true;
    case Quantity::floor:
      return false;
  }
  return false;
}

bool does(const BoundStep& bound, Step step) {
  return std::find(bound.steps.begin(), bound.steps.end(), step) != bound.steps.end();
}

double rounded(double microseconds) { return std::round(microseconds * 1000) / 1000; }

}  // namespace

// Sorted plans are checked on 37 tokens of few experts; plans without a sort on one token, where that form is legal.
struct LayerBench::ExactProblem {
  Problem problem;
  WeightSet weights;
  CallBuffers buffers;
  Buffer gemm1, gemm2;  // fp32 answers
};

struct LayerBench::TimedPlan {
  std::optional<Graph> prologue;  // what the timed part needs and does not hold: the sort
  Event start, stop;
  std::optional<Graph> timed;
};

LayerBench::LayerBench(const Device& device, const Workload& workload, const RoutingSpec& routing, std::uint64_t seed)
    : device_(device),
      problem_{workload, 1, device.limits()},
      routing_(routing),
      seed_(seed),
      store_(device.limits().arch),
      sink_(4) {}

LayerBench::~LayerBench() = default;

LayerCall LayerBench::layer_call(std::size_t call) const {
  const WeightSet& weights = weights_of(call);
  return {weights.view(), buffers_->tensors(call, problem_.workload, weights)};
}

ProblemAnswer LayerBench::open(int tokens) {
  const Workload& w = problem_.workload;
  problem_.tokens = tokens;
  buffers_.reset();
  saved_operands_.clear();
  reference_ = Buffer();
  const int calls = calls_for(w, tokens, problem_.limits.memory_bandwidth);
  const std::vector<Routing> routings = draw_routings(w, routing_, tokens, calls, seed_);
  const std::int64_t expert_bytes = w1_bytes_per_expert(w) + w2_bytes_per_expert(w);
  buffers_ = std::make_unique<CallBuffers>(make_call_buffers(w, tokens, routings));

  // The reference's scratch is freed before timing; leave it room.
  const std::int64_t slots = static_cast<std::int64_t>(tokens) * w.topk;
  const std::int64_t scratch = slots * (w.hidden + 3 * w.shard()) * 4 + (2ll << 30);
  const int room = static_cast<int>(std::max<std::int64_t>(0, (device_.free_memory() - scratch) / weight_set_bytes(w)));
  const int most = std::max<int>(1, static_cast<int>(weight_sets_.size()) + room);
  weights_in_use_ =
      weight_sets_needed(routings, expert_bytes, w.local_experts(), 2 * problem_.limits.l2_bytes, std::min(most, 16));
  while (weight_sets_.size() < weights_in_use_) {
    weight_sets_.push_back(make_weights(w, Values::random, seed_ + 100 + weight_sets_.size(), store_, stream_));
  }
  fill_values(store_, stream_, w.dtype == Dtype::fp16 ? Dtype::fp16 : Dtype::bf16, buffers_->hidden.ptr(),
              static_cast<std::uint64_t>(tokens) * w.hidden, seed_ + 7 + tokens, FillKind::normal, 1.0f);
  reference_ = Buffer(static_cast<std::size_t>(tokens) * w.hidden * 4);
  reference_layer(store_, stream_, w, tokens, layer_call(0), reference_.ptr());
  for (const Buffer* operand : {&buffers_->a1, &buffers_->a1_scale, &buffers_->a2, &buffers_->a2_scale}) {
    saved_operands_.emplace_back(operand->bytes());
    copy_async(saved_operands_.back().ptr(), operand->ptr(), operand->bytes(), stream_);
  }
  stream_.synchronize();
  operands_dirty_ = false;

  ProblemAnswer answer;
  answer.outcome = Outcome::ok;
  answer.calls = calls;
  answer.weight_sets = static_cast<int>(weights_in_use_);
  for (const Routing& routing : routings) {
    answer.active_experts += static_cast<double>(active_experts(routing)) / calls;
    answer.slots += static_cast<double>(std::count_if(routing.ids.begin(), routing.ids.end(),
                                                      [](std::int32_t id) { return id >= 0; })) /
                    calls;
  }
  answer.l2_ratio = rounded(
      static_cast<double>(smallest_reuse_distance(routings, answer.weight_sets, expert_bytes, w.local_experts())) /
      static_cast<double>(problem_.limits.l2_bytes));
  answer.load_histogram = load_histogram(routings, w.local_experts());
  return answer;
}

void LayerBench::restore_operands() {
  if (!operands_dirty_) return;
  Buffer* operands[] = {&buffers_->a1, &buffers_->a1_scale, &buffers_->a2, &buffers_->a2_scale};
  for (std::size_t i = 0; i < 4; ++i) {
    copy_async(operands[i]->ptr(), saved_operands_[i].ptr(), saved_operands_[i].bytes(), stream_);
  }
  operands_dirty_ = false;
}

ValidateAnswer LayerBench::validate(const Plan& plan) {
  const Workload& w = problem_.workload;
  const std::vector<BoundStep> steps = bind_plan(problem_, plan, store_);
  poison(*buffers_, w, stream_);
  operands_dirty_ = true;
  const LayerCall call = layer_call(0);
  for (const BoundStep& step : steps) step.launch(call, stream_);
  const Comparison c =
      compare_rows(store_, stream_, w, call.tensors.output, reference_.ptr(), 0, problem_.tokens, w.hidden);
  ValidateAnswer answer;
  answer.rel_err = c.rel_err;
  answer.worst_token_err = c.worst_row_err;
  answer.outcome = Outcome::ok;
  if (!c.finite) {
    answer.outcome = Outcome::wrong;
    answer.rel_err = answer.worst_token_err = 0;
    answer.log = "the output holds values that are not finite (or were never written)";
    return answer;
  }
  const Tolerance tolerance = tolerance_of(w);
  if (c.rel_err > tolerance.rel_err || c.worst_row_err > tolerance.worst_token ||
      c.worst_element > tolerance.worst_element) {
    answer.outcome = Outcome::wrong;
    answer.log = fmt::format("relative error {:.3g} (at most {}), worst token {:.3g} ({}), worst element {:.3g} ({})",
                             c.rel_err, tolerance.rel_err, c.worst_row_err, tolerance.worst_token, c.worst_element,
                             tolerance.worst_element);
    return answer;
  }
  answer.exact_mismatches = exact_mismatches(plan);
  if (answer.exact_mismatches > 0) {
    answer.outcome = Outcome::wrong;
    answer.log = fmt::format("{} elements differ on integer-valued operands", answer.exact_mismatches);
  }
  return answer;
}

LayerBench::ExactProblem& LayerBench::exact_problem(bool naive) {
  std::unique_ptr<ExactProblem>& slot = exact_[naive];
  if (slot) return *slot;
  Workload w = problem_.workload;
  w.intermediate = w.shard();
  w.tp = w.ep = 1;
  w.experts = naive ? 4 * w.topk : std::max(w.topk, 4);
  const int tokens = naive ? 1 : 37;
  auto exact = std::make_unique<ExactProblem>();
  exact->problem = {w, tokens, problem_.limits};
  exact->weights = make_weights(w, Values::integers, seed_ + 50, store_, stream_);
  std::vector<Routing> routings = draw_routings(w, {}, tokens, 1, seed_ + 51);
  Random random(seed_ + 52);
  for (float& weight : routings[0].weights) weight = std::ldexp(1.0f, -static_cast<int>(random.below(3)));
  exact->buffers = make_call_buffers(w, tokens, routings);
  CallBuffers& b = exact->buffers;
  const std::uint64_t slots = static_cast<std::uint64_t>(tokens) * w.topk;
  const LayerCall call{exact->weights.view(), b.tensors(0, w, exact->weights)};
  fill_values(store_, stream_, w.dtype, call.tensors.a1, static_cast<std::uint64_t>(tokens) * w.hidden, seed_ + 53,
              FillKind::small_integers, 1.0f);
  fill_values(store_, stream_, w.dtype, b.a2.ptr(), slots * w.shard(), seed_ + 54, FillKind::small_integers, 1.0f);
  fill_floats(store_, stream_, b.a1_scale.ptr(), b.a1_scale.bytes() / 4, seed_ + 55, FillKind::powers_of_two, 1.0f);
  fill_floats(store_, stream_, b.a2_scale.ptr(), b.a2_scale.bytes() / 4, seed_ + 56, FillKind::powers_of_two, 1.0f);
  exact->gemm1 = Buffer(slots * 2 * w.shard() * 4);
  exact->gemm2 = Buffer(slots * w.hidden * 4);
  reference_gemm(store_, stream_, w, tokens, Step::gemm1, call, exact->gemm1.ptr());
  reference_gemm(store_, stream_, w, tokens, Step::gemm2, call, exact->gemm2.ptr());
  stream_.synchronize();
  slot = std::move(exact);
  return *slot;
}

std::int64_t LayerBench::exact_mismatches(const Plan& plan) {
  const bool naive = naive_sort(problem_.workload, problem_.tokens);
  ExactProblem& exact = exact_problem(naive);
  const Workload& w = exact.problem.workload;
  const int slots = exact.problem.tokens * w.topk;
  CallBuffers& b = exact.buffers;
  b.gemm1_out.fill_bytes(0xff, stream_);
  b.gemm2_out.fill_bytes(0xff, stream_);
  const LayerCall call{exact.weights.view(), b.tensors(0, w, exact.weights)};
  for (const BoundStep& step : bind_plan(exact.problem, plan, store_)) {
    if (does(step, Step::sort) || does(step, Step::gemm1) || does(step, Step::gemm2)) step.launch(call, stream_);
  }
  return compare_rows(store_, stream_, w, b.gemm1_out.ptr(), exact.gemm1.ptr(), 0, slots, 2 * w.shard()).mismatches +
         compare_rows(store_, stream_, w, b.gemm2_out.ptr(), exact.gemm2.ptr(), 0, slots, w.hidden).mismatches;
}

void LayerBench::run_floor_call(std::size_t call) {
  const Workload& w = problem_.workload;
  const WeightSet& weights = weights_of(call);
  const CallBuffers::PerCall& c = buffers_->calls[call];
  const std::int64_t e = w.element_bytes();
  read_chain(store_, stream_, problem_.limits.sm_count, weights.w1.ptr(), c.active_experts.ptr(), c.active,
             2ll * w.shard() * w.hidden * e, sink_.ptr());
  read_chain(store_, stream_, problem_.limits.sm_count, weights.w2.ptr(), c.active_experts.ptr(), c.active,
             static_cast<std::int64_t>(w.hidden) * w.shard() * e, sink_.ptr());
}

Graph LayerBench::capture(Quantity quantity, const std::vector<BoundStep>& steps, const Event& start,
                          const Event& stop) {
  return Graph(stream_, [&] {
    start.record_in_graph(stream_);
    for (std::size_t call = 0; call < buffers_->calls.size(); ++call) {
      if (quantity == Quantity::floor) run_floor_call(call);
      for (const BoundStep& step : steps) {
        if (part_of(quantity, step.steps.front())) step.launch(layer_call(call), stream_);
      }
    }
    stop.record_in_graph(stream_);
  });
}

LayerBench::TimedPlan LayerBench::prepare(const Plan& plan, Quantity quantity) {
  TimedPlan timed;
  const std::vector<BoundStep> steps = bind_plan(problem_, plan, store_);
  if (quantity == Quantity::floor) {
    store_.get({"kernels/reference/check.cu", "moetune::read_chain"});  // loading is not allowed during a capture
  }
  const bool sorts = std::any_of(steps.begin(), steps.end(), [](const BoundStep& s) { return does(s, Step::sort); });
  if (sorts && !part_of(quantity, Step::sort) && quantity != Quantity::floor) {
    timed.prologue.emplace(stream_, [&] {
      for (std::size_t call = 0; call < buffers_->calls.size(); ++call) {
        for (const BoundStep& step : steps) {
          if (does(step, Step::sort)) step.launch(layer_call(call), stream_);
        }
      }
    });
  }
  timed.timed.emplace(capture(quantity, steps, timed.start, timed.stop));
  return timed;
}

MeasureAnswer LayerBench::measure(const MeasureRequest& request) {
  restore_operands();
  std::vector<TimedPlan> plans;
  if (request.quantity == Quantity::floor) {
    plans.push_back(prepare({}, Quantity::floor));
  } else {
    for (const Plan& plan : request.plans) plans.push_back(prepare(plan, request.quantity));
  }
  const double calls = static_cast<double>(buffers_->calls.size());
  const auto sample = [&](TimedPlan& plan) {
    if (plan.prologue) plan.prologue->replay(stream_);
    plan.timed->replay(stream_);
    stream_.synchronize();
    return rounded(microseconds_between(plan.start, plan.stop) / calls);
  };
  MeasureAnswer answer;
  answer.outcome = Outcome::ok;
  answer.samples_us.resize(plans.size());
  for (TimedPlan& plan : plans) {  // warm-up
    const double first = sample(plan);
    // Far slower than what is still wanted: the first replay says enough.
    if (request.stop_above_us > 0 && plans.size() == 1 && first > 1.2 * request.stop_above_us) {
      answer.samples_us[0].push_back(first);
      return answer;
    }
  }
  Random random(request.seed);
  std::vector<std::size_t> order(plans.size());
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < request.rounds; ++round) {
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
    for (const std::size_t i : order) answer.samples_us[i].push_back(sample(plans[i]));
    if (request.stop_above_us > 0 && plans.size() == 1 && answer.samples_us[0].back() > request.stop_above_us) break;
  }
  return answer;
}

}  // namespace moetune
