#include "space/expression.h"

#include <cctype>
#include <cstdlib>
#include <lua.hpp>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace moetune {
namespace {

// Far above what a constraint needs, far below what a user would notice. The byte limit is on what one compile or
// evaluation allocates in all, freed or not: otherwise few instructions could still copy gigabytes.
constexpr int instruction_limit = 10'000;
constexpr std::size_t byte_limit = 1u << 20;
constexpr std::size_t longest_expression = 8192;
constexpr const char* chunk_name = "=x";  // Lua starts its messages with "x:LINE: "

struct Memory {
  bool limited = false;
  std::size_t allocated = 0;  // since `limited` was set
};

void* allocate(void* user, void* old, std::size_t old_size, std::size_t size) {
  if (size == 0) {
    std::free(old);
    return nullptr;
  }
  auto& memory = *static_cast<Memory*>(user);
  const std::size_t had = old ? old_size : 0;  // without a block, old_size is a type tag
  if (memory.limited && size > had) {          // shrinking must never fail
    if (size - had > byte_limit - memory.allocated) return nullptr;
    memory.allocated += size - had;
  }
  return std::realloc(old, size);
}

// Lua leaves a C function by longjmp on an error, which runs no destructors: the functions that raise hold no objects.
int raise_unknown_variable(lua_State* lua) {
  if (lua_type(lua, 2) != LUA_TSTRING) return luaL_error(lua, "a variable's name must be text");
  **static_cast<std::string**>(lua_getextraspace(lua)) = lua_tostring(lua, 2);
  return luaL_error(lua, "unknown variable '%s'", lua_tostring(lua, 2));
}

int raise_assignment(lua_State* lua) { return luaL_error(lua, "an expression cannot assign to a variable"); }

void raise_limit(lua_State* lua, lua_Debug*) {
  luaL_error(lua, "stopped after %d instructions; a constraint must be a plain comparison", instruction_limit);
}

std::string without_position(const std::string& message) {
  std::size_t end = 2;
  if (message.compare(0, end, "x:") != 0) return message;
  while (end < message.size() && std::isdigit(static_cast<unsigned char>(message[end]))) ++end;
  return message.compare(end, 2, ": ") == 0 ? message.substr(end + 2) : message;
}

[[noreturn]] void fail(const std::string& expression, const std::string& why) {
  std::string message = "expression \"" + expression + "\": " + why;
  for (char& c : message) {
    if (std::iscntrl(static_cast<unsigned char>(c))) c = ' ';  // an error is one line
  }
  throw Error(ExitCode::usage, message);
}

}  // namespace

struct ExpressionEngine::State {
  struct Compiled {
    std::string text;
    int reference;
  };

  Memory memory;
  lua_State* lua = nullptr;
  int values = LUA_NOREF;       // the variables, by name
  int environment = LUA_NOREF;  // what expressions see of them: reads only
  std::string unknown;          // set when an expression read a variable that is not there
  std::vector<Compiled> compiled;

  ~State() {
    if (lua) lua_close(lua);
  }

  // Runs one Lua call under the byte limit.
  template <class Call>
  int limited(Call call) {
    memory.allocated = 0;
    memory.limited = true;
    const int status = call();
    memory.limited = false;
    return status;
  }

  // Pops Lua's error value.
  std::string pop_message() {
    const char* text = lua_tostring(lua, -1);
    std::string message = without_position(text ? text : "unknown fault");
    lua_pop(lua, 1);
    if (message == "not enough memory") return "needs more than " + std::to_string(byte_limit >> 20) + " MB of memory";
    // Lua words it differently for // and %, and between its releases.
    if (message == "attempt to divide by zero" || message.find("'n//0'") != message.npos ||
        message.find("'n%0'") != message.npos || message.find("'n%%0'") != message.npos) {
      return "division by zero";
    }
    return message;
  }

  std::vector<std::string> variable_names() {
    std::vector<std::string> names;
    lua_rawgeti(lua, LUA_REGISTRYINDEX, values);
    for (lua_pushnil(lua); lua_next(lua, -2) != 0; lua_pop(lua, 1)) names.emplace_back(lua_tostring(lua, -2));
    lua_pop(lua, 1);
    return names;
  }

  // Leaves the compiled chunk on the stack.
  void load(const std::string& expression, const std::string& source) {
    const int status = limited([&] { return luaL_loadbufferx(lua, source.data(), source.size(), chunk_name, "t"); });
    if (status != LUA_OK) fail(expression, pop_message());
  }
};

ExpressionEngine::ExpressionEngine() : state_(std::make_unique<State>()) {
  State& state = *state_;
  lua_State* lua = state.lua = lua_newstate(allocate, &state.memory);
  if (!lua) throw Error(ExitCode::internal, "out of memory for the expression engine");
  *static_cast<std::string**>(lua_getextraspace(lua)) = &state.unknown;

  // environment (empty, closed) -> values -> error: lookups stay within Lua's own tables, and an assignment cannot
  // reach the values.
  lua_newtable(lua);
  lua_newtable(lua);
  lua_pushcfunction(lua, raise_unknown_variable);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
  lua_pushvalue(lua, -1);
  state.values = luaL_ref(lua, LUA_REGISTRYINDEX);

  lua_newtable(lua);
  lua_newtable(lua);
  lua_rotate(lua, -3, -1);  // values to the top
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, raise_assignment);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, -2);
  state.environment = luaL_ref(lua, LUA_REGISTRYINDEX);
}

ExpressionEngine::~ExpressionEngine() = default;

int ExpressionEngine::compile(const std::string& expression) {
  State& state = *state_;
  if (expression.size() > longest_expression) {
    fail(expression.substr(0, 60) + "...", "longer than " + std::to_string(longest_expression) + " characters");
  }
  // Both forms must compile: only bare, "a, b" would pass; only in parentheses, "a), (b" would. The newline ends a
  // comment.
  state.load(expression, "return " + expression + "\n");
  lua_pop(state.lua, 1);
  state.load(expression, "return (" + expression + "\n)");
  state.compiled.push_back({expression, luaL_ref(state.lua, LUA_REGISTRYINDEX)});
  return static_cast<int>(state.compiled.size()) - 1;
}

void ExpressionEngine::set(const std::string& name, std::int64_t value) {
  lua_State* lua = state_->lua;
  lua_rawgeti(lua, LUA_REGISTRYINDEX, state_->values);
  lua_pushlstring(lua, name.data(), name.size());
  lua_pushinteger(lua, value);
  lua_rawset(lua, -3);
  lua_pop(lua, 1);
}

void ExpressionEngine::set(const Variables& variables) {
  for (const auto& [name, value] : variables) set(name, value);
}

bool ExpressionEngine::holds(int handle) {
  State& state = *state_;
  lua_State* lua = state.lua;
  const State::Compiled& compiled = state.compiled.at(handle);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, compiled.reference);
  // Anew each time: a function inside the expression may have replaced its _ENV.
  lua_rawgeti(lua, LUA_REGISTRYINDEX, state.environment);
  lua_setupvalue(lua, -2, 1);
  lua_sethook(lua, raise_limit, LUA_MASKCOUNT, instruction_limit);

  state.unknown.clear();
  if (state.limited([&] { return lua_pcall(lua, 0, 1, 0); }) != LUA_OK) {
    std::string why = state.pop_message();
    if (!state.unknown.empty()) {
      const auto nearest = nearest_names(state.unknown, state.variable_names());
      if (!nearest.empty()) why += "; nearest known: " + join(nearest, ", ");
    }
    fail(compiled.text, why);
  }
  if (!lua_isboolean(lua, -1)) {
    const std::string type = luaL_typename(lua, -1);
    lua_pop(lua, 1);
    fail(compiled.text, "gives a " + type + ", must give true or false; compare it with something");
  }
  const bool result = lua_toboolean(lua, -1);
  lua_pop(lua, 1);
  return result;
}

}  // namespace moetune
