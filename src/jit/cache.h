// Content-addressed cubin cache on disk: $XDG_CACHE_HOME/moetune (or ~/.cache/moetune), MOETUNE_CACHE_DIR, or
// --cache-dir.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "jit/compile.h"

namespace moetune {

// For this process and workers started later (it sets MOETUNE_CACHE_DIR).
void set_cache_folder(const std::filesystem::path& folder);
std::filesystem::path cache_folder();

// Failed compiles are cached too (the log says why). A damaged entry is a miss.
std::optional<CompileResult> cache_lookup(const std::string& key);

// Built aside and renamed, so that concurrent writers and crashes leave whole entries. Returns the stored result (with
// cubin_path). A cache that cannot be written is an Error(usage) naming the folder and the option.
CompileResult cache_store(const std::string& key, const CompileResult& result, const std::string& cubin);

}  // namespace moetune
