#include <algorithm>

#include "base/error.h"
#include "workload/names.h"
#include "workload/workload.h"

namespace moetune {
namespace {

// More ranks than this are not worth listing in a message.
constexpr int kMostSplits = 64;

[[noreturn]] void fail(const std::string& message) { throw Error(ExitCode::usage, message); }

std::string text(int value) { return std::to_string(value); }

void check_at_least_one(const char* option, int value) {
  if (value < 1) fail(std::string("--") + option + " must be at least 1, it is " + text(value));
}

void check_block_members(const Workload& w) {
  if ((w.scales == Scales::block) != w.block_shape.has_value()) {
    fail("a block shape goes with block scales and only with them; the scales are " + std::string(name_of(w.scales)));
  }
  if ((w.scales != Scales::none) != (w.dtype == Dtype::fp8_w8a8)) {
    fail(std::string("dtype ") + name_of(w.dtype) + " does not go with scales " + name_of(w.scales) +
         "; fp8_w8a8 takes tensor, channel or block, the others none");
  }
  if (w.block_shape && (w.block_shape->n < 1 || w.block_shape->k < 1)) {
    fail("--block-shape must be two sizes of at least 1, it is " + text(w.block_shape->n) + "," +
         text(w.block_shape->k));
  }
}

void check_experts_split(const Workload& w) {
  if (w.ep > w.tp) {
    fail("--ep " + text(w.ep) + " is more than --tp " + text(w.tp) +
         ": ep says over how many of the tp ranks the experts are spread");
  }
  if (w.tp % w.ep != 0) {
    fail("--tp " + text(w.tp) + " does not divide into --ep " + text(w.ep) +
         " groups: tp must be a multiple of ep (tp/ep ranks share each expert)");
  }
  if (w.experts % w.ep == 0) return;
  std::vector<int> working;
  for (int ep = 1; ep <= std::min(w.experts, kMostSplits); ++ep) {
    if (w.experts % ep == 0) working.push_back(ep);
  }
  fail(text(w.experts) + " experts do not divide over " + text(w.ep) +
       " ranks: every rank must hold the same number; --ep values that work: " + comma_separated(working));
}

bool split_fits(const Workload& w, int split) {
  if (w.intermediate % split != 0) return false;
  const int shard = w.intermediate / split;
  return !w.block_shape || (shard % w.block_shape->n == 0 && shard % w.block_shape->k == 0);
}

// The tp values that work with this ep, for the end of a message.
std::string working_tp(const Workload& w) {
  std::vector<int> working;
  for (int split = 1; split <= std::min(w.intermediate, kMostSplits); ++split) {
    if (split_fits(w, split)) working.push_back(split * w.ep);
  }
  const std::string with_ep = w.ep > 1 ? " with --ep " + text(w.ep) : "";
  if (!working.empty()) return "; --tp values that work" + with_ep + ": " + comma_separated(working);
  return "; no --tp works" + with_ep + ": use another --block-shape or --scales channel";
}

void check_intermediate_split(const Workload& w) {
  const int split = w.tp / w.ep;
  if (w.intermediate % split != 0) {
    fail("intermediate size " + text(w.intermediate) + " does not divide over " + text(split) + " ranks" +
         working_tp(w));
  }
  if (split_fits(w, split)) return;
  const int shard = w.shard();
  const bool along_n = shard % w.block_shape->n != 0;
  fail("intermediate size " + text(w.intermediate) + " over " + text(split) + " ranks gives a shard of " + text(shard) +
       ", no multiple of the scale block's " + text(along_n ? w.block_shape->n : w.block_shape->k) +
       ": a block's scale would be split between ranks" + working_tp(w));
}

}  // namespace

void check_workload(const Workload& w) {
  check_at_least_one("experts", w.experts);
  check_at_least_one("topk", w.topk);
  check_at_least_one("hidden", w.hidden);
  check_at_least_one("intermediate", w.intermediate);
  check_at_least_one("tp", w.tp);
  check_at_least_one("ep", w.ep);
  if (w.topk > w.experts) {
    fail("topk " + text(w.topk) + " is more than the " + text(w.experts) + " experts; check --topk and --experts");
  }
  check_block_members(w);
  check_experts_split(w);
  check_intermediate_split(w);
}

}  // namespace moetune
