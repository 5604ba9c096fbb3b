// The files built into the binary: kernel sources, spaces, model presets. An option or MOETUNE_DATA_DIR points at a
// folder with the repository's layout to use instead, for editing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace moetune {

// Uses `folder` instead of the built-in files, in this process and in workers started later (it sets
// MOETUNE_DATA_DIR). Error(usage) when it is not a folder.
void set_data_folder(const std::string& folder);

// Text of e.g. "kernels/moe/grouped_gemm.cu", "search_spaces/grouped_gemm.json", "src/workload/models.json".
// Error(internal) when there is no such file; Error(usage) naming it when it is missing in the folder used instead.
std::string embedded_file(std::string_view path);

// Paths with this prefix, sorted.
std::vector<std::string> embedded_files(std::string_view prefix);

}  // namespace moetune
