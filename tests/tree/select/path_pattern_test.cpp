#include "tree/select/path_pattern.h"

#include <gtest/gtest.h>

namespace rdcp::tree {
namespace {

TEST(PathPattern, IsAWordWithOneOfThreeCharacters) {
  for (const char* word : {"*", "a/*.txt", "?", "a[1]", "["}) EXPECT_TRUE(is_pattern(word)) << word;
  for (const char* word : {"", "a", "a/b", "a{1,2}", "~", "a\\b"}) EXPECT_FALSE(is_pattern(word)) << word;
}

TEST(PathPattern, StandsForWhatGlobWouldName) {
  for (const auto& [pattern, path] :
       std::initializer_list<std::pair<const char*, const char*>>{{"*.txt", "a.txt"},
                                                                  {"/d/*", "/d/a"},
                                                                  {"d*/e?", "d1/e2"},
                                                                  {"d*/", "d1/"},
                                                                  {"[ab]c", "bc"},
                                                                  {".*", ".profile"},
                                                                  {"../*", "../a"},
                                                                  {"./*", "./a"},
                                                                  {"a\\*b*", "a*bc"},
                                                                  {"d//*", "d/x"},
                                                                  {"*", "\xff"},
                                                                  {"w[1].bin", "w[1].bin"},
                                                                  {"plain", "plain"}}) {
    EXPECT_TRUE(stands_for(pattern, path)) << pattern << " " << path;
  }
}

TEST(PathPattern, StandsForNothingElse) {
  for (const auto& [pattern, path] :
       std::initializer_list<std::pair<const char*, const char*>>{{"*.txt", ".bashrc"},
                                                                  {"*.txt", "a.txt/b"},
                                                                  {"*", "a/b"},
                                                                  {"*", ".hidden"},
                                                                  {"*", ".."},
                                                                  {".*", ".."},
                                                                  {".*", "."},
                                                                  {".*/x", "../x"},
                                                                  {"*", "/a"},
                                                                  {"/d/*", "d/a"},
                                                                  {"/d/*", "/d/../etc/passwd"},
                                                                  {"/d/*", "/d/sub/a"},
                                                                  {"d*", "d1/"},
                                                                  {"d*/", "d1"},
                                                                  {"*", ""},
                                                                  {"/*/", "/"},
                                                                  {"//*//", "//"},
                                                                  {"d*/e*", "d1"},
                                                                  {"plain", "other"}}) {
    EXPECT_FALSE(stands_for(pattern, path)) << pattern << " " << path;
  }
  EXPECT_FALSE(stands_for("*", std::string("a\0b", 3)));
  EXPECT_FALSE(stands_for(std::string("a\0b", 3), "a"));
}

}  // namespace
}  // namespace rdcp::tree
