// Whole-file reading and writing. Errors are moetune::Error naming the path and the system's reason.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace moetune {

// The bytes of `path`; a path ending in ".gz" is decompressed.
std::string read_file(const std::filesystem::path& path);

// Replaces `path` by `content` through a temporary file in the same folder and a rename, so that a crash or a full
// disk leaves the old file whole. Creates missing parent folders.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace moetune
