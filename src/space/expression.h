// Constraint expressions: Lua 5.4 arithmetic over integers, in a sandbox without any library and with an instruction
// limit, so that a space file cannot do harm.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace moetune {

using Variables = std::map<std::string, std::int64_t>;

class ExpressionEngine {
 public:
  ExpressionEngine();
  ~ExpressionEngine();
  ExpressionEngine(const ExpressionEngine&) = delete;
  ExpressionEngine& operator=(const ExpressionEngine&) = delete;

  // Compiles once; the handle is used with evaluate(). Error(usage) names the expression and the fault.
  int compile(const std::string& expression);

  void set(const std::string& name, std::int64_t value);
  void set(const Variables& variables);

  // Whether the expression holds. Error(usage) for an unknown variable, a result that is no boolean, a run-time fault
  // (division by zero) or an exceeded instruction limit; the message holds the expression.
  bool holds(int handle);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace moetune
