#include "space/space.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "jit/embedded.h"

namespace moetune {
namespace {

constexpr const char* format_name = "moetune.space/1";
constexpr const char* folder = "search_spaces/";
constexpr const char* extension = ".json";
constexpr std::int64_t most_points = 1'000'000;  // enumeration holds every candidate in memory

// Reads one JSON object's members; every fault names the file, the place in it and the member.
class Members {
 public:
  Members(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail("must be an object, found " + std::string(json.type_name()));
  }

  void allow_only(const std::vector<std::string>& names) const {
    for (const auto& [name, value] : json_.items()) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      fail("unknown member '" + name + "'; nearest known: " + join(nearest_names(name, names), ", "));
    }
  }

  const Json& get(const std::string& name) const {
    const auto member = json_.find(name);
    if (member == json_.end()) fail("missing member '" + name + "'");
    return *member;
  }

  std::string text(const std::string& name) const {
    const Json& value = get(name);
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
      fail("member '" + name + "' must be text, found " + value.dump());
    }
    return value.get<std::string>();
  }

  std::int64_t integer(const std::string& name) const { return as_integer(get(name), "member '" + name + "'"); }

  std::int64_t as_integer(const Json& value, const std::string& what) const {
    const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
    if (!value.is_number_integer() || too_large) fail(what + " must be a 64-bit integer, found " + value.dump());
    return value.get<std::int64_t>();
  }

  bool has(const std::string& name) const { return json_.contains(name); }
  const Json& json() const { return json_; }
  const std::string& where() const { return where_; }
  [[noreturn]] void fail(const std::string& what) const { throw Error(ExitCode::usage, where_ + ": " + what); }

 private:
  const Json& json_;
  std::string where_;
};

// What an expression can name.
bool is_identifier(const std::string& name) {
  const auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), is_part);
}

std::vector<Parameter> parse_parameters(const Members& members) {
  std::vector<Parameter> parameters;
  std::int64_t points = 1;
  for (const auto& [name, list] : members.json().items()) {
    if (!is_identifier(name)) {
      members.fail("'" + name + "' is no parameter name; use letters, digits and _, no digit first");
    }
    if (!list.is_array() || list.empty()) members.fail("'" + name + "' must be a list of at least one integer");
    Parameter parameter{name, {}};
    for (const Json& json : list) {
      const std::int64_t value = members.as_integer(json, "a value of '" + name + "'");
      if (std::find(parameter.values.begin(), parameter.values.end(), value) != parameter.values.end()) {
        members.fail("'" + name + "' holds " + std::to_string(value) + " twice; each value may stand once");
      }
      parameter.values.push_back(value);
    }
    points *= static_cast<std::int64_t>(parameter.values.size());
    if (points > most_points) {
      members.fail("more than " + std::to_string(most_points) + " points; use fewer values");
    }
    parameters.push_back(std::move(parameter));
  }
  if (parameters.empty()) members.fail("holds no parameter; a space needs at least one");
  return parameters;
}

Constraint parse_constraint(const Members& members) {
  members.allow_only({"name", "outcome", "expression"});
  Constraint constraint{members.text("name"), members.text("expression")};
  const std::string outcome = members.text("outcome");
  if (outcome != name_of(Outcome::constraints) && outcome != name_of(Outcome::resources)) {
    members.fail("member 'outcome' is '" + outcome + "'; it must be 'constraints' or 'resources'");
  }
  constraint.outcome = outcome_from_name(outcome);
  try {
    ExpressionEngine().compile(constraint.expression);
  } catch (const Error& error) {
    members.fail("constraint '" + constraint.name + "': " + error.what());
  }
  return constraint;
}

std::vector<Constraint> parse_constraints(const Members& top) {
  const Json& list = top.get("constraints");
  if (!list.is_array()) top.fail("member 'constraints' must be a list, found " + std::string(list.type_name()));
  std::vector<Constraint> constraints;
  for (const Json& json : list) {
    const Members members(json, top.where() + ": constraints[" + std::to_string(constraints.size()) + "]");
    Constraint constraint = parse_constraint(members);
    for (const Constraint& other : constraints) {
      if (other.name == constraint.name) members.fail("the name '" + constraint.name + "' stands twice");
    }
    constraints.push_back(std::move(constraint));
  }
  return constraints;
}

Config parse_default(const Members& members, const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  members.allow_only(names);
  Config config;
  for (const Parameter& parameter : parameters) {
    const std::int64_t value = members.integer(parameter.name);
    if (std::find(parameter.values.begin(), parameter.values.end(), value) == parameter.values.end()) {
      members.fail("'" + parameter.name + "' is " + std::to_string(value) + ", which is not among its values");
    }
    config.set(parameter.name, value);
  }
  return config;
}

// The JSON library keeps one of two equal members without a word; which one a reader expects is anyone's guess.
Json parse_without_repeats(const std::string& text, const std::string& origin) {
  std::vector<std::set<std::string>> open;
  const auto check = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second) {
      throw Error(ExitCode::usage, origin + ": member " + parsed.dump() + " stands twice in one object");
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& error) {
    const std::string message = error.what();  // "[json.exception....] what"
    const std::size_t end = message.find("] ");
    throw Error(ExitCode::usage, origin + ": no valid JSON: " + message.substr(end == message.npos ? 0 : end + 2));
  }
}

// The nested loops over a space's parameters.
class Enumerator {
 public:
  Enumerator(const Space& space, const Variables& variables) : space_(space) {
    engine_.set(variables);
    for (const Constraint& constraint : space.constraints) {
      handles_.push_back(engine_.compile(constraint.expression));
      result_.dropped.push_back({constraint.name, constraint.outcome, 0});
    }
    for (const Parameter& parameter : space.parameters) {
      if (variables.count(parameter.name) > 0) {
        throw Error(ExitCode::usage, "space '" + space.name + "': the parameter '" + parameter.name +
                                         "' has the name of a variable; rename it");
      }
      config_.values.emplace_back(parameter.name, 0);
    }
  }

  Enumeration run() {
    loop(0);
    return std::move(result_);
  }

 private:
  void loop(std::size_t depth) {
    if (depth == space_.parameters.size()) {
      visit();
      return;
    }
    const Parameter& parameter = space_.parameters[depth];
    for (const std::int64_t value : parameter.values) {
      engine_.set(parameter.name, value);
      config_.values[depth].second = value;
      loop(depth + 1);
    }
  }

  void visit() {
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      if (!holds(i)) {
        ++result_.dropped[i].count;
        return;
      }
    }
    result_.candidates.push_back(config_);
  }

  bool holds(std::size_t constraint) {
    try {
      return engine_.holds(handles_[constraint]);
    } catch (const Error& error) {
      throw Error(error.code(), "space '" + space_.name + "', constraint '" + space_.constraints[constraint].name +
                                    "': " + error.what());
    }
  }

  const Space& space_;
  ExpressionEngine engine_;
  std::vector<int> handles_;
  Config config_;
  Enumeration result_;
};

}  // namespace

std::int64_t Space::points() const {
  std::int64_t points = 1;
  for (const Parameter& parameter : parameters) points *= static_cast<std::int64_t>(parameter.values.size());
  return points;
}

Space parse_space(const Json& json, const std::string& origin) {
  const Members members(json, origin);
  members.allow_only({"format", "name", "note", "parameters", "constraints", "default"});
  const std::string format = members.text("format");
  if (format != format_name) {
    members.fail("member 'format' is '" + format + "'; this version reads '" + format_name + "'");
  }
  Space space;
  space.name = members.text("name");
  if (members.has("note")) space.note = members.text("note");
  space.parameters = parse_parameters(Members(members.get("parameters"), origin + ": parameters"));
  space.constraints = parse_constraints(members);
  space.default_config = parse_default(Members(members.get("default"), origin + ": default"), space.parameters);
  return space;
}

std::vector<std::string> space_names() {
  std::vector<std::string> names;
  for (const std::string& path : embedded_files(folder)) {
    const std::string name = path.substr(std::string(folder).size());
    if (name.ends_with(extension)) names.push_back(name.substr(0, name.size() - std::string(extension).size()));
  }
  return names;
}

Space load_space(const std::string& name) {
  const std::vector<std::string> names = space_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    const std::string path = folder + name + extension;
    return parse_space(parse_without_repeats(embedded_file(path), path), path);
  }
  if (name.find('/') == name.npos && !name.ends_with(extension) && !std::filesystem::is_regular_file(name)) {
    throw Error(ExitCode::usage, "no space '" + name + "'; nearest known: " + join(nearest_names(name, names), ", ") +
                                     "; or give the path of a space file");
  }
  return parse_space(parse_without_repeats(read_file(name), name), name);
}

Enumeration enumerate(const Space& space, const Variables& variables) { return Enumerator(space, variables).run(); }

}  // namespace moetune
