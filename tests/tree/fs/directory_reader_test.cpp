#include "tree/fs/directory_reader.h"

#include <sys/stat.h>

#include <set>

#include "tests/tree/fs/broken_listing.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

class DirectoryReaderTest : public testing::Test {
 protected:
  DirectoryReaderTest() {
    ::mkdirat(here_.fd(), "d", 0700);
    for (const char* name : {"d/a", "d/..b", "d/.c"}) write_file(here_ / name, "");
    ::mkdirat(here_.fd(), "d/sub", 0700);
  }

  static std::multiset<std::string> rest_of(DirectoryReader& reader) {
    std::multiset<std::string> names;
    EXPECT_TRUE(reader.for_each([&](const dirent& entry) { return names.insert(entry.d_name), true; }));
    return names;
  }

  const std::multiset<std::string> all_{"a", "..b", ".c", "sub"};
  ScratchDirectory here_;
};

TEST_F(DirectoryReaderTest, ListsAllButTheTwoThatEachDirectoryHas) {
  DirectoryReader reader = DirectoryReader::open(here_.fd(), "d");
  ASSERT_TRUE(reader);
  EXPECT_EQ(rest_of(reader), all_);
  EXPECT_EQ(reader.next(), nullptr);
  EXPECT_EQ(errno, 0);
  reader.rewind();
  EXPECT_EQ(rest_of(reader), all_);
}

TEST_F(DirectoryReaderTest, AnEmptyPathIsTheRootItself) {
  DirectoryReader reader = DirectoryReader::open(here_.fd(), "");
  EXPECT_EQ(rest_of(reader), std::multiset<std::string>{"d"});
}

TEST_F(DirectoryReaderTest, WhatCannotBeOpenedSaysWhy) {
  ASSERT_EQ(::symlinkat("d", here_.fd(), "link"), 0);
  EXPECT_FALSE(DirectoryReader::open(here_.fd(), "missing"));
  EXPECT_EQ(errno, ENOENT);
  for (const char* name : {"link", "d/a"}) {
    EXPECT_FALSE(DirectoryReader::open(here_.fd(), name));
    EXPECT_EQ(errno, ENOTDIR) << name;
  }
  EXPECT_FALSE(DirectoryReader::open(here_.fd(), "link/sub"));
  EXPECT_EQ(errno, ELOOP);
}

TEST_F(DirectoryReaderTest, ALaterReaderGoesOnWhereOneStood) {
  DirectoryReader first = DirectoryReader::open(here_.fd(), "d");
  std::multiset<std::string> names;
  for (int i = 0; i < 2; ++i) names.insert(first.next()->d_name);
  DirectoryReader second = DirectoryReader::open(here_.fd(), "d");
  second.seek(first.position());
  names.merge(rest_of(second));
  EXPECT_EQ(names, all_);
}

TEST_F(DirectoryReaderTest, AListingThatBreaksOffIsNoEnd) {
  DirectoryReader reader = DirectoryReader::open(here_.fd(), "d");
  const BrokenListing broken(here_ / "d", 3);
  int seen = 0;
  EXPECT_FALSE(reader.for_each([&](const dirent&) { return ++seen, true; }));
  EXPECT_EQ(errno, EIO);
  EXPECT_LE(seen, 3);
}

TEST_F(DirectoryReaderTest, TypesThatTheFilesystemDoesNotTellAreLookedUp) {
  DirectoryReader reader = DirectoryReader::open(here_.fd(), "d");
  const auto is_directory = [&](const std::string& name, unsigned char type) {
    dirent entry{};
    entry.d_type = type;
    name.copy(entry.d_name, sizeof entry.d_name - 1);
    return reader.is_directory(entry);
  };
  for (const unsigned char type : {DT_UNKNOWN, DT_DIR}) EXPECT_EQ(is_directory("sub", type), true);
  for (const unsigned char type : {DT_UNKNOWN, DT_REG}) EXPECT_EQ(is_directory("a", type), false);
  EXPECT_EQ(is_directory("removed meanwhile", DT_UNKNOWN), false);
  EXPECT_EQ(is_directory("a/x", DT_UNKNOWN), std::nullopt) << "as where fstatat(2) fails";
}

}  // namespace
}  // namespace rdcp::tree
