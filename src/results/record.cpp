#include "results/record.h"

#include <algorithm>
#include <cmath>

#include "results/json_fields.h"

namespace moetune {
namespace {

bool is_flat(const Json& json) {
  return std::none_of(json.begin(), json.end(), [](const Json& value) {
    return value.is_object() || (value.is_array() && !value.empty() && value[0].is_structured());
  });
}

std::string compact(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void append_text(std::string& text, const Json& json, const std::string& indent) {
  if (!json.is_structured() || json.empty()) {
    text += compact(json);
    return;
  }
  const bool flat = is_flat(json);
  const std::string inner = indent + "  ";
  text += json.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [name, value] : json.items()) {
    if (!first) text += flat ? ", " : ",";
    if (!flat) text += "\n" + inner;
    if (json.is_object()) text += compact(name) + ": ";
    append_text(text, value, inner);
    first = false;
  }
  if (!flat) text += "\n" + indent;
  text += json.is_object() ? "}" : "]";
}

}  // namespace

std::string record_text(const Json& record) {
  std::string text;
  append_text(text, record, "");
  return text + "\n";
}

Json read_record(const std::filesystem::path& path) {
  const JsonPlace top("record " + path.string());
  Json json = parse_json_file(path, top);
  require_format(json, kRecordFormat, top);
  return json;
}

Json rounded(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

}  // namespace moetune
