// Checks of members of JSON files that people edit. Every failure is an Error(usage) that names the file and the
// member, e.g. "winners file a.json: winners.16.plan: must be a list, found 3".
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace moetune {

// A file and the way to a member in it.
class JsonPlace {
 public:
  explicit JsonPlace(std::string file) : file_(std::move(file)) {}
  JsonPlace member(const std::string& name) const;
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  std::string file_;
  std::string member_;
};

// The value's text, cut off when it is long.
std::string shown(const Json& json);

Json parse_json_file(const std::filesystem::path& path, const JsonPlace& place);

void require_format(const Json& json, const char* format, const JsonPlace& place);

// The member of an object, of this type.
const Json& required(const Json& json, const char* name, Json::value_t type, const JsonPlace& place);

// A token count as an object's key: a whole number >= 1.
int token_count_of(const std::string& key, const JsonPlace& place);

// Runs `parse` and puts the place in front of the message of its Error(usage).
template <typename Parse>
auto at_place(const JsonPlace& place, const Parse& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    place.fail(error.what());
  } catch (const Json::exception& error) {
    place.fail(error.what());
  }
}

}  // namespace moetune
