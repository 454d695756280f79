#include "tree/fs/opened_directories.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/tree/scratch_directory.h"
#include "tree/fs/beneath.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using Access = OpenedDirectories::Access;

class OpenedDirectoriesTest : public testing::Test {
 protected:
  OpenedDirectoriesTest() {
    root_.give_to_scoped_user();
    opened_.begin(root_.fd(), "DST");
    user_.emplace();
  }
  void make(const std::string& path, mode_t mode) {
    ASSERT_EQ(::mkdir((root_ / path).c_str(), 0700), 0) << path;
    ASSERT_EQ(::chmod((root_ / path).c_str(), mode), 0) << path;
  }
  Access open_up(const std::string& path) {
    const io::Fd fd = open_beneath(root_.fd(), path, O_PATH | O_DIRECTORY);
    EXPECT_TRUE(fd) << path;
    return opened_.open_up(fd.get(), path);
  }
  mode_t mode_of(const std::string& path) { return status_of(root_ / path).st_mode & 07777; }

  ScratchDirectory root_;
  static constexpr std::size_t kBytesMost = 10'000;
  std::vector<std::string> problems_;
  OpenedDirectories opened_{[this](const io::Error& error) { problems_.push_back(error.message()); },
                            kBytesMost};
  std::optional<ScopedUser> user_;
};

TEST_F(OpenedDirectoriesTest, AllAreClosedAgainAndTheDeepestFirst) {
  make("a", 0700);
  make("a/b", 0700);
  make("a/b/c", 0);
  make("a/b-c", 0555);
  ASSERT_EQ(::chmod((root_ / "a/b").c_str(), 0), 0);
  ASSERT_EQ(::chmod((root_ / "a").c_str(), 02050), 0);
  for (const char* path : {"a", "a/b", "a/b/c", "a/b-c"}) EXPECT_EQ(open_up(path), Access::now) << path;
  EXPECT_EQ(mode_of("a/b/c"), 0700u);
  EXPECT_EQ(open_up("a/b"), Access::before);
  opened_.close_all();
  EXPECT_EQ(mode_of("a"), 02050u);
  ASSERT_EQ(::chmod((root_ / "a").c_str(), 0700), 0);
  EXPECT_EQ(mode_of("a/b-c"), 0555u);
  EXPECT_EQ(mode_of("a/b"), 0u);
  ASSERT_EQ(::chmod((root_ / "a/b").c_str(), 0700), 0);
  EXPECT_EQ(mode_of("a/b/c"), 0u);
  EXPECT_TRUE(problems_.empty());
}

TEST_F(OpenedDirectoriesTest, TheRootIsOne) {
  ASSERT_EQ(::chmod(root_.path().c_str(), 0555), 0);
  EXPECT_EQ(opened_.open_up(root_.fd(), ""), Access::now);
  EXPECT_EQ(mode_of("."), 0755u);
  opened_.close_all();
  EXPECT_EQ(mode_of("."), 0555u);
  ASSERT_EQ(::chmod(root_.path().c_str(), 0755), 0);
}

TEST_F(OpenedDirectoriesTest, WhatWasOpenOrHasChangedStaysAsItIs) {
  for (const char* path : {"finished", "changed", "replaced", "removed"}) {
    make(path, 0500);
    EXPECT_EQ(open_up(path), Access::now);
  }
  make("open", 0700);
  EXPECT_EQ(open_up("open"), Access::no);
  opened_.forget("finished");
  ASSERT_EQ(::chmod((root_ / "changed").c_str(), 0711), 0);
  for (const char* path : {"replaced", "removed"})
    fs::rename(root_ / path, root_ / (std::string("was ") + path));
  make("replaced", 0700);
  opened_.close_all();
  EXPECT_EQ(mode_of("finished"), 0700u);
  EXPECT_EQ(mode_of("changed"), 0711u);
  EXPECT_EQ(mode_of("replaced"), 0700u);
  EXPECT_TRUE(problems_.empty());
}

TEST_F(OpenedDirectoriesTest, WhatCannotBeClosedIsReported) {
  make("a", 0700);
  make("a/b", 0500);
  EXPECT_EQ(open_up("a/b"), Access::now);
  ASSERT_EQ(::chmod((root_ / "a").c_str(), 0), 0);
  if (::eaccess((root_ / "a/b").c_str(), F_OK) == 0) GTEST_SKIP() << "this user may search any directory";
  opened_.close_all();
  EXPECT_EQ(problems_, std::vector<std::string>{"set mode of DST/a/b: Permission denied"});
  ASSERT_EQ(::chmod((root_ / "a").c_str(), 0700), 0);
}

// Its memory does not grow with the tree.
TEST_F(OpenedDirectoriesTest, BeyondABoundOthersAreClosedAtOnce) {
  const std::string long_name(240, 'x');
  make("top", 0500);
  EXPECT_EQ(open_up("top"), Access::now);
  std::size_t bytes = 0;
  int made = 0;
  for (; bytes <= kBytesMost; bytes += 4 + long_name.size(), ++made) {
    const std::string path = "top/" + std::to_string(made) + long_name;
    make(path, 0500);
    EXPECT_EQ(open_up(path), Access::now);
  }
  EXPECT_EQ(mode_of("top/0" + long_name), 0500u);
  EXPECT_EQ(mode_of("top"), 0700u) << "the last one lies in it";
  EXPECT_EQ(open_up("top"), Access::before);
  EXPECT_EQ(open_up("top/0" + long_name), Access::now) << "it may be needed again";
  EXPECT_EQ(mode_of("top/" + std::to_string(made - 1) + long_name), 0700u);
  opened_.close_all();
  for (int i = 0; i < made; ++i) EXPECT_EQ(mode_of("top/" + std::to_string(i) + long_name), 0500u) << i;
  EXPECT_EQ(mode_of("top"), 0500u);
}

}  // namespace
}  // namespace rdcp::tree
