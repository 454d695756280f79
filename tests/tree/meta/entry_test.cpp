#include "tree/meta/entry.h"

#include <gtest/gtest.h>

#include <string>

namespace rdcp::tree {
namespace {

TEST(SafePath, TakesRelativePathsOfAnyBytes) {
  for (const std::string path :
       {"", "a", "a/b/c", ".a", "..a", "a..", "a/...", "\n", "\xff\xfe/\x01", " ", "-rf"}) {
    EXPECT_TRUE(is_safe_path(path)) << path;
  }
  EXPECT_TRUE(is_safe_path(std::string(255, 'x') + "/" + std::string(5000, 'y')));
}

TEST(SafePath, RefusesAbsolutePaths) {
  for (const std::string path : {"/", "/a", "//a"}) EXPECT_FALSE(is_safe_path(path)) << path;
}

TEST(SafePath, RefusesEmptyComponents) {
  for (const std::string path : {"a/", "a//b", "a/b//"}) EXPECT_FALSE(is_safe_path(path)) << path;
}

TEST(SafePath, RefusesDotComponentsAnywhere) {
  for (const std::string path : {".", "..", "./a", "../a", "a/.", "a/..", "a/./b", "a/../b"}) {
    EXPECT_FALSE(is_safe_path(path)) << path;
  }
}

TEST(SafePath, RefusesNul) {
  EXPECT_FALSE(is_safe_path(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_safe_path(std::string_view("\0", 1)));
}

TEST(SplitPath, DividesAtTheLastSlash) {
  EXPECT_EQ(split_path("a/b/c").parent, "a/b");
  EXPECT_EQ(split_path("a/b/c").name, "c");
}

TEST(SplitPath, GivesAnEmptyParentAtTheTop) {
  EXPECT_EQ(split_path("b").parent, "");
  EXPECT_EQ(split_path("b").name, "b");
}

}  // namespace
}  // namespace rdcp::tree
