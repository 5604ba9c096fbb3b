#include "results/json_fields.h"

#include <charconv>

#include "base/files.h"

namespace moetune {

JsonPlace JsonPlace::member(const std::string& name) const {
  JsonPlace place = *this;
  place.member_ += (member_.empty() ? "" : ".") + name;
  return place;
}

void JsonPlace::fail(const std::string& problem) const {
  throw Error(ExitCode::usage, file_ + ": " + (member_.empty() ? "" : member_ + ": ") + problem);
}

std::string shown(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

Json parse_json_file(const std::filesystem::path& path, const JsonPlace& place) {
  const std::string text = read_file(path);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    // Without the library's own error number in front.
    const std::string message = error.what();
    const std::size_t start = message.find("] ");
    place.fail("is no JSON: " + (start == std::string::npos ? message : message.substr(start + 2)));
  }
}

void require_format(const Json& json, const char* format, const JsonPlace& place) {
  if (!json.is_object()) place.fail("must be an object, found " + shown(json));
  const auto found = json.find("format");
  if (found == json.end() || *found != format) {
    place.member("format").fail(std::string("must be \"") + format + "\", found " +
                                (found == json.end() ? "nothing" : shown(*found)));
  }
}

const Json& required(const Json& json, const char* name, Json::value_t type, const JsonPlace& place) {
  const auto found = json.find(name);
  if (found == json.end()) place.fail(std::string("lacks \"") + name + "\"");
  if (found->type() != type) {
    place.member(name).fail(std::string("must be of type ") + Json(type).type_name() + ", found " + shown(*found));
  }
  return *found;
}

int token_count_of(const std::string& key, const JsonPlace& place) {
  int tokens = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), tokens);
  if (error != std::errc() || end != key.data() + key.size() || tokens < 1) {
    place.member(key).fail("is no token count (a whole number of at least 1)");
  }
  return tokens;
}

}  // namespace moetune
