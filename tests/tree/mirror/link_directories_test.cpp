#include "tree/mirror/link_directories.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

TEST(LinkDirectories, AreRelativeToDstAlsoWhereThatIsStillMissing) {
  EXPECT_EQ(path_of_link_directory("/old", "dst", true), "/old");
  EXPECT_EQ(path_of_link_directory("../old", "dst", true), "dst/../old");
  EXPECT_EQ(path_of_link_directory("/old", "dst", false), "/old");
  EXPECT_EQ(path_of_link_directory("../old", "a/dst/", false), "a/old");
  EXPECT_EQ(path_of_link_directory("..", "a/dst", false), "a");
  EXPECT_EQ(path_of_link_directory(".//./../old", "dst", false), "./old");
  EXPECT_EQ(path_of_link_directory("../../old", "/a/dst", false), "/a/../old");
  EXPECT_EQ(path_of_link_directory("old", "dst", false), "dst/old");
  EXPECT_EQ(path_of_link_directory("./", "dst", false), "dst/");
}

TEST(LinkDirectories, WhatIsMissingIsTold) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch.path() + "/old");
  LinkDirectories links;
  links.open({"../none", "../old"}, scratch.path() + "/dst", false);
  ASSERT_EQ(links.opened.size(), 1u);
  EXPECT_EQ(links.opened[0].name, scratch.path() + "/old");
  ASSERT_EQ(links.missing.size(), 1u);
  EXPECT_EQ(links.missing[0], "nothing is linked to " + scratch.path() + "/none: No such file or directory");
}

}  // namespace
}  // namespace rdcp::tree
