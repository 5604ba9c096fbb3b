// Records: what was measured for a winners file, beside it (NAME.record.json, "moetune.record/1"; docs/formats.md).
// Their content is built in tune/records.h.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"

namespace moetune {

inline constexpr const char* kRecordFormat = "moetune.record/1";

// Two spaces of indent, a final newline; a value without nested objects or lists of objects stays on one line.
std::string record_text(const Json& record);

// Error(usage) for a missing file or another "format".
Json read_record(const std::filesystem::path& path);

// Rounded to `digits` after the point, so that records stay readable; null for NaN and infinity.
Json rounded(double value, int digits);

}  // namespace moetune
