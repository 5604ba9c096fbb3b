#include "jit/compile_json.h"

namespace moetune {

Json to_json(const CompileResult& result) {
  return {{"ok", result.ok},
          {"timed_out", result.timed_out},
          {"cubin_path", result.cubin_path},
          {"entry", result.entry},
          {"registers", result.registers},
          {"spill_bytes", result.spill_bytes},
          {"static_shared_bytes", result.static_shared_bytes},
          {"seconds", result.seconds},
          {"cached", result.cached},
          {"log", result.log}};
}

CompileResult compile_result_from_json(const Json& json) {
  CompileResult result;
  json.at("ok").get_to(result.ok);
  json.at("timed_out").get_to(result.timed_out);
  json.at("cubin_path").get_to(result.cubin_path);
  json.at("entry").get_to(result.entry);
  json.at("registers").get_to(result.registers);
  json.at("spill_bytes").get_to(result.spill_bytes);
  json.at("static_shared_bytes").get_to(result.static_shared_bytes);
  json.at("seconds").get_to(result.seconds);
  json.at("cached").get_to(result.cached);
  json.at("log").get_to(result.log);
  return result;
}

std::string one_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace moetune
