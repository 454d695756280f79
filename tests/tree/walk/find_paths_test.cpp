#include "tree/walk/find_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/tree/heard.h"
#include "tests/tree/scratch_directory.h"
#include "tree/select/path_pattern.h"

namespace rdcp::tree {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct FindPathsTest : testing::Test {
  FindPathsTest() {
    ::mkdirat(here.fd(), "d1", 0700);
    ::mkdirat(here.fd(), "d2", 0700);
    for (const char* name : {"a.txt", "b.txt", ".c.txt", "w[1].bin", "w1.bin", "d1/x", "d2/y"})
      write_file(here / name, "");
  }
  // Returns what was found, from this directory on.
  std::vector<std::string> find(std::vector<std::string> words) {
    for (std::string& word : words) word = here / word;
    auto found = find_paths({words}, heard.reporter);
    EXPECT_TRUE(found);
    std::vector<std::string> paths;
    for (const PathFound& one : found->found) {
      EXPECT_TRUE(stands_for(words.at(one.word), one.path)) << one.path;
      paths.push_back(one.path.substr(here.path().size() + 1));
    }
    return paths;
  }

  ScratchDirectory here;
  Heard heard;
};

TEST_F(FindPathsTest, PatternsStandForNamesInTheirOrder) {
  EXPECT_THAT(find({"*.txt", "d?/*"}), ElementsAre("a.txt", "b.txt", "d1/x", "d2/y"));
  EXPECT_THAT(find({"[bc].txt"}), ElementsAre("b.txt"));
  EXPECT_THAT(find({"d*/"}), ElementsAre("d1/", "d2/"));
  EXPECT_EQ(heard.text(), "");
}

TEST_F(FindPathsTest, HiddenNamesAreFoundByTheirDotOnly) {
  EXPECT_THAT(find({".*"}), ElementsAre(".c.txt"));
  EXPECT_EQ(heard.text(), "");
}

TEST_F(FindPathsTest, ANameWithSuchCharactersIsItself) {
  EXPECT_THAT(find({"w[1].bin"}), ElementsAre("w[1].bin"));
}

TEST_F(FindPathsTest, OtherWordsStayAsTheyAre) {
  EXPECT_THAT(find({"missing", "a.txt"}), ElementsAre("missing", "a.txt"));
  EXPECT_EQ(heard.text(), "");
}

TEST_F(FindPathsTest, WhatStandsForNothingIsReported) {
  EXPECT_THAT(find({"*.none", "a.*"}), ElementsAre("a.txt"));
  EXPECT_THAT(heard.text(), HasSubstr("*.none: no file matches"));
}

TEST_F(FindPathsTest, TooManyAreRefused) {
  const auto found = find_paths({std::vector<std::string>(kPathsFoundMax + 1, "x")}, heard.reporter);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, io::ErrorKind::usage);
  EXPECT_FALSE(find_paths({{std::string(kPathsFoundBytesMax + 1, 'x')}}, heard.reporter));
}

}  // namespace
}  // namespace rdcp::tree
