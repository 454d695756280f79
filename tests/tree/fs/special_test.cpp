#include "tree/fs/special.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/tree/session/target_tree_fixture.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SpecialTest : public TargetTreeFixture, public testing::Test {
 protected:
  SpecialTest() : TargetTreeFixture(Naming::automatic) {}
};

TEST_F(SpecialTest, SymlinkKeepsItsBytesAndTime) {
  const std::string target = std::string(4000, 'x') + "/..//\xFF\n";
  expect_ok(tree_.put_special(symlink_of("a/s", target)));
  EXPECT_EQ(fs::read_symlink(root_ / "a/s").string(), target);
  EXPECT_EQ(time_of(root_ / "a/s"), kTime);
}

TEST_F(SpecialTest, EqualSymlinkIsNotReplaced) {
  fs::create_symlink("target", root_ / "s");
  const ino_t inode = status_of(root_ / "s").st_ino;
  expect_ok(tree_.put_special(symlink_of("s", "target")));
  EXPECT_EQ(status_of(root_ / "s").st_ino, inode);
  EXPECT_EQ(time_of(root_ / "s"), kTime);
}

TEST_F(SpecialTest, OtherSymlinkIsReplaced) {
  for (const char* old : {"targe", "target2", "x"}) {
    fs::remove(root_ / "s");
    fs::create_symlink(old, root_ / "s");
    expect_ok(tree_.put_special(symlink_of("s", "target")));
    EXPECT_EQ(fs::read_symlink(root_ / "s"), "target");
  }
  EXPECT_THAT(names_in(root_.path()), ElementsAre("s"));
}

TEST_F(SpecialTest, WhatIsThereStaysWhenTheNewOneCannotBeFinished) {
  write_file(root_ / "f", "old");
  const auto made = make_special({root_.fd(), "f", "f"}, symlink_of("f", "x"),
                                 [](int) { return io::Result<void>(io::errno_error("finish", "f", EIO)); });
  expect_error(made, EIO, "f");
  EXPECT_EQ(content_of(root_ / "f"), "old");
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f"));
}

TEST_F(SpecialTest, SymlinkWithNulIsAProtocolError) {
  expect_protocol_error(tree_.put_special(symlink_of("s", std::string("a\0b", 3))));
  EXPECT_THAT(names_in(root_.path()), IsEmpty());
}

TEST_F(SpecialTest, NodesHaveTypeModeAndTime) {
  for (const auto& [type, bits] : {std::pair{EntryType::fifo, S_IFIFO}, {EntryType::socket, S_IFSOCK}}) {
    for (int round = 0; round < 2; ++round) {  // the second one replaces the first
      expect_ok(tree_.put_special(entry_of(type, "node", round == 0 ? 0666 : 0640)));
      EXPECT_EQ(status_of(root_ / "node").st_mode & S_IFMT, static_cast<mode_t>(bits));
      EXPECT_EQ(mode_of(root_ / "node"), round == 0 ? 0666u : 0640u);
      EXPECT_EQ(time_of(root_ / "node"), kTime);
    }
  }
  EXPECT_THAT(names_in(root_.path()), ElementsAre("node"));
}

TEST_F(SpecialTest, FileIsReplacedByANode) {
  write_file(root_ / "f", "old");
  expect_ok(tree_.put_special(entry_of(EntryType::fifo, "f")));
  EXPECT_TRUE(S_ISFIFO(status_of(root_ / "f").st_mode));
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f"));
}

TEST_F(SpecialTest, DeviceNodeHasItsNumbers) {
  Entry entry = entry_of(EntryType::char_device, "null", 0666);
  entry.device = makedev(1, 3);
  if (::mknodat(root_.fd(), "probe", S_IFCHR | 0600, entry.device) != 0)
    GTEST_SKIP() << "may not make devices";
  fs::remove(root_ / "probe");
  expect_ok(tree_.put_special(entry));
  EXPECT_TRUE(S_ISCHR(status_of(root_ / "null").st_mode));
  EXPECT_EQ(status_of(root_ / "null").st_rdev, entry.device);
  EXPECT_EQ(mode_of(root_ / "null"), 0666u);
}

TEST_F(SpecialTest, DeviceNodeWithoutPrivilegeIsALoss) {
  root_.give_to_scoped_user();
  write_file(root_ / "taken", "kept");
  const ScopedUser user;
  for (const char* name : {"free", "taken"}) {
    Entry entry = entry_of(EntryType::block_device, name, 0600);
    entry.device = makedev(7, 0);
    expect_ok(tree_.put_special(entry));
  }
  ASSERT_THAT(losses_.items(), SizeIs(1));
  EXPECT_EQ(losses_.items()[0].kind, LossKind::device_node);
  EXPECT_EQ(losses_.items()[0].count, 2u);
  EXPECT_EQ(losses_.items()[0].first_path, "ROOT/free");
  EXPECT_THAT(names_in(root_.path()), ElementsAre("taken"));
  EXPECT_EQ(content_of(root_ / "taken"), "kept");
}

// EPERM has other causes than that one may not make nodes: here what has the name must not be replaced.
TEST_F(SpecialTest, ANodeThatCannotTakeItsNameIsAFailureAndNoLoss) {
  Entry entry = entry_of(EntryType::char_device, "taken", 0600);
  entry.device = makedev(1, 3);
  if (::mknodat(root_.fd(), "probe", S_IFCHR | 0600, entry.device) != 0)
    GTEST_SKIP() << "may not make devices";
  fs::remove(root_ / "probe");
  write_file(root_ / "taken", "kept");
  const io::Fd taken(::open((root_ / "taken").c_str(), O_RDONLY | O_CLOEXEC));
  int flags = FS_IMMUTABLE_FL;
  if (::ioctl(taken.get(), FS_IOC_SETFLAGS, &flags) != 0) GTEST_SKIP() << "this file system has no such flag";
  const auto made = tree_.put_special(entry);
  flags = 0;
  EXPECT_EQ(::ioctl(taken.get(), FS_IOC_SETFLAGS, &flags), 0);
  expect_error(made, EPERM, "ROOT/taken");
  EXPECT_THAT(losses_.items(), IsEmpty());
  EXPECT_THAT(names_in(root_.path()), ElementsAre("taken"));
}

TEST_F(SpecialTest, HardLinkIsTheSameInode) {
  expect_ok(put("a/f", "content"));
  expect_ok(tree_.put_special(hard_link_of("b/c/link", "a/f")));
  expect_ok(tree_.put_special(hard_link_of("top", "a/f")));
  EXPECT_EQ(status_of(root_ / "b/c/link").st_ino, status_of(root_ / "a/f").st_ino);
  EXPECT_EQ(status_of(root_ / "a/f").st_nlink, 3u);
}

TEST_F(SpecialTest, HardLinkReplacesWhatIsThere) {
  expect_ok(put("f", "content"));
  write_file(root_ / "link", "old");
  for (int round = 0; round < 2; ++round) {  // the second time it is there already
    expect_ok(tree_.put_special(hard_link_of("link", "f")));
    EXPECT_EQ(status_of(root_ / "link").st_ino, status_of(root_ / "f").st_ino);
  }
  EXPECT_EQ(status_of(root_ / "f").st_nlink, 2u);
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f", "link"));
}

TEST_F(SpecialTest, HardLinkThatIsThereIsNotMadeAgain) {
  expect_ok(put("a/f", "content"));
  expect_ok(tree_.put_special(hard_link_of("a/link", "a/f")));
  expect_ok(tree_.finish_directory(entry_of(EntryType::directory, "a", 0755)));
  expect_ok(tree_.put_special(hard_link_of("a/link", "a/f")));
  EXPECT_EQ(time_of(root_ / "a"), kTime);
}

TEST_F(SpecialTest, HardLinkToItselfIsKept) {
  expect_ok(put("f", "content"));
  expect_ok(tree_.put_special(hard_link_of("f", "f")));
  EXPECT_EQ(content_of(root_ / "f"), "content");
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f"));
}

TEST_F(SpecialTest, HardLinkFollowsNoSymlink) {
  write_file(outside_ / "secret", "secret");
  fs::create_symlink(outside_ / "secret", root_ / "planted");
  fs::create_directory_symlink(outside_.path(), root_ / "out");
  expect_ok(tree_.put_special(hard_link_of("link", "planted")));
  EXPECT_TRUE(S_ISLNK(status_of(root_ / "link").st_mode));
  expect_error(tree_.put_special(hard_link_of("link2", "out/secret")), ELOOP, "ROOT/out");
  EXPECT_EQ(status_of(outside_ / "secret").st_nlink, 1u);
  EXPECT_THAT(names_in(root_.path()), ElementsAre("link", "out", "planted"));
}

TEST_F(SpecialTest, HardLinkToNothingIsAnError) {
  expect_error(tree_.put_special(hard_link_of("link", "missing")), ENOENT, "ROOT/link");
  expect_error(tree_.put_special(hard_link_of("link", "no/where")), ENOENT, "ROOT/no");
  EXPECT_THAT(names_in(root_.path()), IsEmpty());
}

// What --link-dest has looked at is linked, and nothing that has taken its place since.
TEST_F(SpecialTest, OnlyTheFileThatWasLookedAtIsLinked) {
  const io::Fd root(::open(root_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const io::Fd outside(::open(outside_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  write_file(outside_ / "file", "content");
  const struct stat looked_at = status_of(outside_ / "file");
  EXPECT_TRUE(link_unchanged({root.get(), "link", "link"}, outside.get(), "file", looked_at));
  EXPECT_EQ(status_of(root_ / "link").st_ino, looked_at.st_ino);
  EXPECT_FALSE(link_unchanged({root.get(), "link", "link"}, outside.get(), "file", looked_at)) << "taken";
  fs::rename(outside_ / "file", outside_ / "moved");
  for (int kind = 0; kind < 3; ++kind) {
    fs::remove(outside_ / "file");
    if (kind == 0) write_file(outside_ / "file", "another");
    if (kind == 1) fs::create_symlink("moved", outside_ / "file");
    EXPECT_FALSE(link_unchanged({root.get(), "new", "new"}, outside.get(), "file", looked_at)) << kind;
  }
  write_file(outside_ / "moved", "changed!");
  EXPECT_FALSE(link_unchanged({root.get(), "new", "new"}, outside.get(), "moved", looked_at));
  EXPECT_THAT(names_in(root_.path()), ElementsAre("link"));
}

}  // namespace
}  // namespace rdcp::tree
