#include "base/digest.h"

#include <gtest/gtest.h>

namespace moetune {

TEST(Digest, IsTheCanonicalXxh3) {
  // The value that xxhsum -H2 prints for an empty file.
  EXPECT_EQ(digest(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Digest, OneByteChangesIt) {
  const std::string bytes(1000, 'a');
  std::string other = bytes;
  other[999] = 'b';
  EXPECT_EQ(digest(bytes).size(), 32u);
  EXPECT_EQ(digest(bytes).find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(digest(bytes), digest(std::string(1000, 'a')));
  EXPECT_NE(digest(bytes), digest(other));
}

}  // namespace moetune
