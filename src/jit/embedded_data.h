// The generated table behind embedded.h.
#pragma once

namespace moetune {

struct EmbeddedData {
  const char* path;
  unsigned bytes;
  const char* text;
};
extern const EmbeddedData embedded_data[];
extern const unsigned embedded_data_count;

}  // namespace moetune
