// A directory that something else takes the place of: what is seen while it does.
#include "tree/mirror/make_way.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "tests/tree/meta/own_path.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// Where the filesystem exchanges names, and as if it did not.
class MakeWayTest : public testing::TestWithParam<Exchange> {
 protected:
  MakeWayTest() {
    gate_.begin(scratch_.fd(), std::move(*Filter::create({{.pattern = "precious"}})), "", 0, 0);
    fs::create_directories(scratch_ / "a/sub");
    write_file(scratch_ / "a/sub/file", "old");
  }
  static SyncSettings forced() {
    SyncSettings sync;
    sync.enabled = sync.mirror = sync.force = true;
    return sync;
  }
  const EntryPath path_ = own("a");
  io::Result<void> replace(const std::function<io::Result<void>(const std::string&)>& publish) {
    return replace_directory(gate_, {scratch_.fd(), "a", path_, "ROOT/a"}, publish, GetParam());
  }
  io::Result<void> publish(const std::string& name) {
    write_file(scratch_ / name, "new");
    return {};
  }

  RemovalGate gate_{forced()};
  ScratchDirectory scratch_;
};

INSTANTIATE_TEST_SUITE_P(Ways, MakeWayTest, testing::Values(Exchange::automatic, Exchange::never),
                         [](const testing::TestParamInfo<Exchange>& info) {
                           return std::string(info.param == Exchange::never ? "Renames" : "Exchange");
                         });

TEST_P(MakeWayTest, TheDirectoryIsThereUntilTheFileIs) {
  const auto done = replace([&](const std::string& name) {
    EXPECT_EQ(content_of(scratch_ / "a/sub/file"), "old");
    // For `rdcp --clean` it is in use.
    const io::Fd other(::open((scratch_ / "a").c_str(), O_RDONLY | O_DIRECTORY));
    EXPECT_NE(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
    return publish(name);
  });
  EXPECT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(content_of(scratch_ / "a"), "new");
  EXPECT_THAT(names_in(scratch_.path()), ElementsAre("a"));
}

TEST_P(MakeWayTest, AllStaysWhenNothingCanTakeItsPlace) {
  const auto done = replace([&](const std::string&) { return io::errno_error("name", "it", ENOSPC); });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ENOSPC);
  EXPECT_EQ(content_of(scratch_ / "a/sub/file"), "old");
  EXPECT_THAT(names_in(scratch_.path()), ElementsAre("a"));
}

// Where nobody has compared it before.
TEST_P(MakeWayTest, NothingMakesWayInADirectoryThatARuleProtects) {
  fs::create_directories(scratch_ / "precious/a");
  const io::Fd parent(::open((scratch_ / "precious").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const EntryPath path = own("precious/a");
  const auto done = replace_directory(
      gate_, {parent.get(), "a", path, "ROOT/precious/a"},
      [&](const std::string& name) { return publish("precious/" + name); }, GetParam());
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message(), HasSubstr("a rule protects"));
  EXPECT_TRUE(fs::is_directory(scratch_ / "precious/a"));
}

// Another program puts something into it after it was looked at.
TEST_P(MakeWayTest, WhatComesIntoItMeanwhileIsAskedForToo) {
  const auto done = replace([&](const std::string& name) {
    write_file(scratch_ / "a/sub/precious", "stays");
    return publish(name);
  });
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message(), HasSubstr("a/sub/precious"));
  EXPECT_EQ(content_of(scratch_ / "a"), "new");
  std::string left;
  for (const std::string& name : names_in(scratch_.path())) {
    if (name != "a") left = name;
  }
  EXPECT_EQ(content_of(scratch_ / (left + "/sub/precious")), "stays");
  EXPECT_THAT(done.error().message(), HasSubstr(left));
}

}  // namespace
}  // namespace rdcp::tree
