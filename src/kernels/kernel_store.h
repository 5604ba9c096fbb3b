// Kernels loaded on this process's GPU: compiled through the cache, modules kept while they fit the store.
#pragma once

#include <list>
#include <string>
#include <unordered_map>

#include "gpu/driver.h"
#include "jit/compile.h"
#include "kernels/family.h"

namespace moetune {

class KernelStore {
 public:
  // Keeps at most `capacity` modules; the least recently used is unloaded first, so memory stays flat over any sweep.
  KernelStore(std::string arch, std::size_t capacity = 256) : arch_(std::move(arch)), capacity_(capacity) {}

  // Error(internal) with the compiler's log when the kernel does not compile; GpuError when it does not load.
  CUfunction get(const KernelSource& source, int dynamic_shared_bytes = 0);

 private:
  struct Entry {
    std::string key;
    Module module;
    std::string entry;
  };
  std::string arch_;
  std::size_t capacity_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

// A plan's step, ready to launch.
struct BoundStep {
  std::vector<Step> steps;
  LaunchStep launch;
};

std::vector<BoundStep> bind_plan(const Problem& problem, const Plan& plan, KernelStore& store);

}  // namespace moetune
