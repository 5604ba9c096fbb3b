// Builds the records beside winners files ("moetune.record/1"; docs/formats.md says what each member means).
#pragma once

#include <vector>

#include "results/journal_header.h"
#include "tune/tuner.h"

namespace moetune {

struct RecordContext {
  RunIdentity run;
  bool replayed = false;     // the times come from a journal, not from a GPU of this run
  bool interrupted = false;  // token counts are missing
  double tuning_wall_s = 0;
  double compile_seconds = 0;  // sum over compile workers
  double gpu_seconds = 0;
};

// Of the engine file: configs ranked by sort + both GEMMs on moetune's own kernels.
Json engine_record(const RecordContext& context, const std::vector<TokenResult>& tokens);

// Of the native winners file: plans ranked by the whole layer.
Json native_record(const RecordContext& context, const std::vector<TokenResult>& tokens);

// The rows ("tokens") of an earlier run's record that may stand beside this run's: same layer, device and kernels.
struct EarlierRows {
  Json rows = Json::object();
  std::string difference;  // why not, e.g. "holds winners of bf16, not of fp16"; empty when they may
};
EarlierRows earlier_rows(const Json& record, const RunIdentity& run);

// The record with the rows of token counts that it lacks, ascending; "tokens_of_earlier_runs" names those.
Json with_earlier_rows(Json record, const Json& rows);

}  // namespace moetune
