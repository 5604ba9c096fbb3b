#include "jit/embedded.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "jit/jit_folders.h"

namespace moetune {

TEST(Embedded, HoldsTheRepositorysFilesByteForByte) {
  const std::vector<std::string> paths = embedded_files("");
  ASSERT_FALSE(paths.empty());
  for (const std::string& path : paths) {
    EXPECT_EQ(embedded_file(path), read_file(std::string(MOETUNE_SOURCE_DIR "/") + path)) << path;
  }
  const std::vector<std::string> kernels = embedded_files("kernels/ptx/");
  ASSERT_FALSE(kernels.empty());
  for (const std::string& path : kernels) EXPECT_TRUE(path.starts_with("kernels/ptx/")) << path;
}

TEST(Embedded, AFileThatIsNotThereIsAnError) { EXPECT_THROW(embedded_file("kernels/none.cu"), Error); }

TEST(Embedded, AFolderTakesItsPlace) {
  const JitFolders folders;
  folders.add("kernels/notes.txt", "no data");
  folders.add("search_spaces/a.json", "{}");
  const std::vector<std::string> all = {"kernels/moe/scale.cu", "kernels/ptx/scale.cuh", "kernels/ptx/types.cuh",
                                        "search_spaces/a.json"};
  EXPECT_EQ(embedded_files(""), all);
  EXPECT_EQ(embedded_files("kernels/ptx/").size(), 2u);
  EXPECT_EQ(embedded_file("search_spaces/a.json"), "{}");
  EXPECT_THROW(embedded_file("search_spaces/b.json"), Error);
  EXPECT_THROW(set_data_folder((folders.data() / "none").string()), Error);
}

}  // namespace moetune
