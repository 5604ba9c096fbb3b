#include "kernels/kernel_store.h"

#include "base/error.h"
#include "base/files.h"

namespace moetune {

CUfunction KernelStore::get(const KernelSource& source, int dynamic_shared_bytes) {
  const std::string key = source.key();
  const auto known = index_.find(key);
  if (known != index_.end()) {
    entries_.splice(entries_.begin(), entries_, known->second);
    return entries_.front().module.function(entries_.front().entry, dynamic_shared_bytes);
  }
  const CompileResult result = compile(source, arch_);
  if (!result.ok)
    throw Error(ExitCode::internal, source.expression + " does not compile for " + arch_ + ": " + result.log);
  if (entries_.size() >= capacity_) {
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front({key, Module(read_file(result.cubin_path)), result.entry});
  index_[key] = entries_.begin();
  return entries_.front().module.function(result.entry, dynamic_shared_bytes);
}

std::vector<BoundStep> bind_plan(const Problem& problem, const Plan& plan, KernelStore& store) {
  std::vector<BoundStep> bound;
  for (const PlanStep& step : plan.steps) {
    const Family& f = family(step.family);
    const Step first = step.steps.front();
    const std::vector<KernelSource> sources = f.kernels(problem, first, step.config);
    const std::vector<int> shared = f.dynamic_shared_bytes(problem, first, step.config);
    std::vector<LoadedKernel> loaded;
    for (std::size_t i = 0; i < sources.size(); ++i) loaded.push_back({store.get(sources[i], shared[i])});
    bound.push_back({step.steps, f.bind(problem, first, step.config, loaded)});
  }
  return bound;
}

}  // namespace moetune
