#include "tree/agent/make_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

struct MakePathTest : testing::Test {
  ScratchDirectory scratch;
  const std::string top = scratch.path();
};

TEST_F(MakePathTest, MakesWhatIsMissingWithTheModeAndLeavesTheRest) {
  fs::create_directory(top + "/a");
  ASSERT_EQ(::chmod((top + "/a").c_str(), 0711), 0);
  ASSERT_TRUE(make_path(top + "/a//b/c/", 0750));
  struct stat status {};
  for (const char* name : {"/a/b", "/a/b/c"}) {
    ASSERT_EQ(::stat((top + name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 0777, 0750u) << name;
  }
  ASSERT_EQ(::stat((top + "/a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0711u);
  EXPECT_TRUE(make_path(top + "/a/b/c", 0700));
}

TEST_F(MakePathTest, AFileInTheWayIsAnErrorThatNamesIt) {
  std::ofstream(top + "/file") << "old";
  const auto made = make_path(top + "/file/below", 0700);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ENOTDIR);
  EXPECT_EQ(made.error().subject, top + "/file");
}

TEST_F(MakePathTest, FollowsTheUsersLinksAndFillsInNoDanglingOne) {
  fs::create_directory(top + "/real");
  fs::create_symlink("real", top + "/link");
  ASSERT_TRUE(make_path(top + "/link/below", 0700));
  EXPECT_TRUE(fs::is_directory(top + "/real/below"));
  fs::create_symlink("nowhere", top + "/dangling");
  EXPECT_FALSE(make_path(top + "/dangling/below", 0700));
  EXPECT_FALSE(fs::exists(top + "/nowhere"));
}

}  // namespace
}  // namespace rdcp::tree
