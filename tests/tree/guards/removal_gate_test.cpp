// Which names may go: permits come from the gate, or are for names of rdcp's own.
#include "tree/guards/removal_gate.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <type_traits>

#include "tests/tree/scratch_directory.h"
#include "tree/fs/own_names.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

static_assert(!std::is_default_constructible_v<RemovalPermit>, "only the gate makes one");
static_assert(!std::is_invocable_v<decltype(&remove_name), bool, int, const std::string&, int>);

class RemovalGateTest : public testing::Test {
 protected:
  void start(const std::vector<FilterRule>& rules, std::uint64_t device = 0, std::uint64_t inode = 0) {
    gate.emplace(sync);
    gate->begin(root.fd(), std::move(Filter::create(rules)).value(), "landing", device, inode);
  }
  struct stat status_of(const std::string& name) const {
    struct stat status {};
    EXPECT_EQ(::fstatat(root.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW), 0);
    return status;
  }

  ScratchDirectory root;
  SyncSettings sync;
  std::optional<RemovalGate> gate;
};

TEST_F(RemovalGateTest, WhatARuleProtectsGetsNoPermit) {
  write_file(root / "precious", "");
  write_file(root / "other", "");
  start({{.pattern = "precious"}});
  EXPECT_FALSE(gate->permit("landing/precious", status_of("precious")));
  EXPECT_FALSE(gate->take("landing/precious", status_of("precious")));
  EXPECT_EQ(gate->skipped(), 0u) << "it is not for want of --max-delete";
  EXPECT_TRUE(gate->permit("landing/other", status_of("other")));
  EXPECT_TRUE(gate->take("landing/other", status_of("other")));
}

TEST_F(RemovalGateTest, TheSourceGetsNoPermit) {
  write_file(root / "source", "");
  fs::create_hard_link(root / "source", root / "link");
  const struct stat source = status_of("source");
  start({}, source.st_dev, source.st_ino);
  EXPECT_FALSE(gate->permit("landing/source", source));
  EXPECT_FALSE(gate->take("landing/link", status_of("link")));
  EXPECT_FALSE(gate->gives_way_to_directory(root.fd(), "source"));
}

TEST_F(RemovalGateTest, OnlyAsManyAsAreAllowedGetOne) {
  sync.max_delete = 3;
  start({});
  write_file(root / "f", "");
  const struct stat file = status_of("f");
  EXPECT_TRUE(gate->reserve(2));
  EXPECT_FALSE(gate->reserve(2));
  EXPECT_TRUE(gate->take("landing/f", file));
  EXPECT_FALSE(gate->take("landing/f", file)) << "the room that is left is reserved";
  EXPECT_EQ(gate->skipped(), 1u);
  EXPECT_FALSE(gate->take_reserved(3));
  EXPECT_TRUE(gate->take_reserved(2));
  EXPECT_FALSE(gate->take_reserved(1));
}

TEST_F(RemovalGateTest, ADirectoryIsNoneThatGivesWayToADirectory) {
  fs::create_directory(root / "directory");
  write_file(root / "file", "");
  start({});
  errno = ENOTDIR;
  EXPECT_FALSE(gate->gives_way_to_directory(root.fd(), "directory"));
  EXPECT_FALSE(gate->gives_way_to_directory(root.fd(), "missing"));
  EXPECT_TRUE(gate->gives_way_to_directory(root.fd(), "file"));
  EXPECT_EQ(errno, ENOTDIR);
}

TEST(RemovalPermit, OwnNamesAreNoneOfTheUsers) {
  const PartNames part("big");
  for (const std::string& own : {part.part, part.journal, run_name("job"), temporary_name("x")}) {
    EXPECT_TRUE(RemovalPermit::for_own(own)) << own;
    EXPECT_TRUE(RemovalPermit::for_own(own + "/below/it")) << own;
    EXPECT_FALSE(RemovalPermit::for_own("a/" + own)) << own;
  }
  for (const char* other : {"", "x", ".rdcp-", ".rdcp-12345678", "x.rdcp-12345678", "../.x.rdcp-12345678"}) {
    EXPECT_FALSE(RemovalPermit::for_own(other)) << other;
  }
}

TEST(RemovalPermit, NothingOfTheUsersIsRemovedOrMovedAsIfItWereOwn) {
  ScratchDirectory root;
  write_file(root / "file", "theirs");
  const std::string own = temporary_name("file");
  write_file(root / own, "ours");
  errno = 0;
  EXPECT_EQ(remove_own(root.fd(), "file"), -1);
  EXPECT_EQ(errno, EPERM);
  errno = 0;
  EXPECT_EQ(rename_own(root.fd(), "file", root.fd(), "elsewhere"), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(content_of(root / "file"), "theirs");
  EXPECT_EQ(rename_own(root.fd(), own, root.fd(), "file"), 0);
  EXPECT_EQ(content_of(root / "file"), "ours");
}

}  // namespace
}  // namespace rdcp::tree
