// A kernel that changed after it was verified on a GPU must not ship unnoticed.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "kernels/family.h"

namespace moetune {
namespace {

namespace fs = std::filesystem;

TEST(Verification, EveryFamilyIsVerifiedOrPendingWithAReason) {
  int files = 0;
  for (const fs::directory_entry& folder : fs::directory_iterator(fs::path(MOETUNE_SOURCE_DIR) / "results")) {
    const fs::path path = folder.path() / "verification.json";
    if (!fs::exists(path)) continue;
    ++files;
    const Json json = Json::parse(read_file(path));
    for (const Family& f : families()) {
      if (json.at("pending").contains(f.name)) {
        EXPECT_FALSE(json["pending"][f.name].at("reason").get<std::string>().empty()) << f.name;
        EXPECT_FALSE(json["pending"][f.name].at("commit").get<std::string>().empty()) << f.name;
        continue;
      }
      ASSERT_TRUE(json.at("families").contains(f.name)) << path << " lacks " << f.name;
      EXPECT_EQ(json["families"][f.name].at("digest").get<std::string>(), family_digest(f))
          << f.name << " changed since " << path << "; run scripts/verify_gpu on that GPU";
      EXPECT_EQ(json["families"][f.name].at("outcome").get<std::string>(), "ok") << f.name;
    }
  }
  EXPECT_GT(files, 0) << "no results/*/verification.json";
}

}  // namespace
}  // namespace moetune
