#include "tree/session/target_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/xattr.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "tests/tree/session/target_tree_fixture.h"
#include "tree/meta/acl.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Tag = AclLine::Tag;

// Both ways in which a file gets its name: by a link, and by a rename.
class TargetTreeTest : public TargetTreeFixture, public testing::TestWithParam<Naming> {
 protected:
  TargetTreeTest() : TargetTreeFixture(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(Namings, TargetTreeTest, testing::Values(Naming::automatic, Naming::rename),
                         [](const testing::TestParamInfo<Naming>& info) {
                           return std::string(info.param == Naming::rename ? "Rename" : "Automatic");
                         });

TEST_P(TargetTreeTest, FileHasContentModeAndTime) {
  for (const std::uint32_t mode : {0400u, 0640u, 0777u, 04755u, 02711u}) {
    const std::string path = "a/b/f" + std::to_string(mode);
    expect_ok(put(entry_of(EntryType::file, path, mode), "content"));
    EXPECT_EQ(content_of(root_ / path), "content");
    EXPECT_EQ(mode_of(root_ / path), mode);
    EXPECT_EQ(time_of(root_ / path), kTime);
  }
  EXPECT_THAT(names_in(root_ / "a/b"), SizeIs(5));
  EXPECT_THAT(losses_.items(), IsEmpty());
}

TEST_P(TargetTreeTest, FileMayBeEmpty) {
  expect_ok(put("f", ""));
  EXPECT_EQ(status_of(root_ / "f").st_size, 0);
}

TEST_P(TargetTreeTest, HolesStayHoles) {
  constexpr std::size_t kSize = 1 << 20;
  Entry entry = entry_of(EntryType::file, "sparse");
  entry.size = kSize;
  entry.data = {{262144, 4096}};
  std::string content(kSize, '\0');
  content.replace(262144, 4096, 4096, 'x');
  OneFile file(entry, content);
  expect_ok(tree_.put_file(file.entry(), file.content()));
  EXPECT_EQ(content_of(root_ / "sparse"), content);
  EXPECT_LT(status_of(root_ / "sparse").st_blocks * 512, 65536);
}

TEST_P(TargetTreeTest, FileMayBeOneHole) {
  Entry entry = entry_of(EntryType::file, "hole");
  entry.size = 100'000;
  entry.data = {{100'000, 0}};
  OneFile file(entry, std::string(entry.size, '\0'));
  expect_ok(tree_.put_file(file.entry(), file.content()));
  EXPECT_EQ(content_of(root_ / "hole"), std::string(entry.size, '\0'));
  EXPECT_EQ(status_of(root_ / "hole").st_blocks, 0);
}

TEST_P(TargetTreeTest, OtherSizeThanAnnouncedIsAProtocolError) {
  write_file(root_ / "f", "old");
  Entry entry = entry_of(EntryType::file, "f");
  entry.size = 7;
  for (const std::uint64_t announced : {0, 6, 8}) {
    OneFile file(entry, "content");
    file.entry().size = announced;
    EXPECT_FALSE(tree_.put_file(file.entry(), file.content()).ok());
  }
  EXPECT_EQ(content_of(root_ / "f"), "old");
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f"));
}

TEST_P(TargetTreeTest, SymlinkAsAParentIsNotFollowed) {
  fs::create_directory(root_ / "a");
  fs::create_directory_symlink(outside_.path(), root_ / "a/out");
  expect_error(put("a/out/f", "content"), ENOTDIR, "ROOT/a/out");
  expect_error(put("a/out/b/f", "content"), ENOTDIR, "ROOT/a/out");
  expect_error(tree_.put_special(symlink_of("a/out/s", "x")), ENOTDIR, "ROOT/a/out");
  expect_error(tree_.finish_directory(entry_of(EntryType::directory, "a/out", 0700)), ENOTDIR, "ROOT/a/out");
  EXPECT_FALSE(tree_.open_file(entry_of(EntryType::file, "a/out/f")).ok());
  EXPECT_THAT(names_in(outside_.path()), IsEmpty());
}

TEST_P(TargetTreeTest, SymlinkAtTheFinalNameIsReplaced) {
  write_file(outside_ / "pointed_to", "untouched");
  const struct stat before = status_of(outside_ / "pointed_to");
  for (const char* name : {"f", "fifo"}) fs::create_symlink(outside_ / "pointed_to", root_ / name);
  expect_ok(put("f", "content"));
  expect_ok(tree_.put_special(entry_of(EntryType::fifo, "fifo")));
  EXPECT_TRUE(S_ISREG(status_of(root_ / "f").st_mode));
  EXPECT_TRUE(S_ISFIFO(status_of(root_ / "fifo").st_mode));
  EXPECT_EQ(content_of(outside_ / "pointed_to"), "untouched");
  EXPECT_EQ(status_of(outside_ / "pointed_to").st_ctim.tv_nsec, before.st_ctim.tv_nsec);
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f", "fifo"));
}

TEST_P(TargetTreeTest, FileInPlaceOfADirectoryIsNamed) {
  fs::create_directory(root_ / "a");
  write_file(root_ / "a/file", "kept");
  expect_error(put("a/file/b/f", "content"), ENOTDIR, "ROOT/a/file");
  expect_error(tree_.finish_directory(entry_of(EntryType::directory, "a/file", 0755)), ENOTDIR,
               "ROOT/a/file");
  EXPECT_EQ(content_of(root_ / "a/file"), "kept");
}

TEST_P(TargetTreeTest, DirectoryInPlaceOfAnythingElseIsKept) {
  fs::create_directories(root_ / "d/in_it");
  write_file(root_ / "f", "x");
  expect_error(put("d", "content"), EISDIR, "ROOT/d");
  expect_error(tree_.put_special(symlink_of("d", "x")), EISDIR, "ROOT/d");
  expect_error(tree_.put_special(entry_of(EntryType::fifo, "d")), EISDIR, "ROOT/d");
  expect_error(tree_.put_special(hard_link_of("d", "f")), EISDIR, "ROOT/d");
  EXPECT_THAT(names_in(root_.path()), ElementsAre("d", "f"));
  EXPECT_THAT(names_in(root_ / "d"), ElementsAre("in_it"));
}

// The guard lets no such path through (AdmittedNames); this is what would become of one.
TEST_P(TargetTreeTest, NoPathLeadsOutOfTheRoot) {
  const ScratchDirectory& inside = root_;
  fs::create_directory(inside / "a");
  const std::string outside = "../" + fs::path(outside_.path()).filename().string();
  for (const std::string& path :
       {outside + "/x", std::string(".."), std::string("a/../.."), outside_ / "x"}) {
    Entry entry = entry_of(EntryType::file, "f");
    OneFile file(entry, "");
    file.entry().path = own(path);
    (void)tree_.put_file(file.entry(), file.content());
    (void)tree_.put_special(symlink_of(path, "x"));
    (void)tree_.put_special(hard_link_of(path, "a"));
    (void)tree_.put_special(hard_link_of("a/link", path));
    (void)tree_.finish_directory(entry_of(EntryType::directory, path));
    (void)tree_.open_file(entry_of(EntryType::file, path));
  }
  expect_protocol_error(tree_.put_special(symlink_of("", "x")));
  EXPECT_THAT(names_in(outside_.path()), IsEmpty());
}

TEST_P(TargetTreeTest, ParentSwappedForASymlinkLeadsNowhereElse) {
  expect_ok(put("a/first", "1"));
  fs::rename(root_ / "a", root_ / "moved");
  fs::create_directory_symlink(outside_.path(), root_ / "a");
  expect_ok(put("a/second", "2"));
  expect_ok(tree_.put_special(symlink_of("a/third", "x")));
  EXPECT_THAT(names_in(root_ / "moved"), ElementsAre("first", "second", "third"));
  EXPECT_THAT(names_in(outside_.path()), IsEmpty());
}

TEST_P(TargetTreeTest, RemovedParentIsMadeAnew) {
  expect_ok(put("a/first", "1"));
  fs::remove_all(root_ / "a");
  expect_ok(put("a/second", "2"));
  fs::remove_all(root_ / "a");
  expect_ok(tree_.put_special(symlink_of("a/third", "x")));
  EXPECT_THAT(names_in(root_ / "a"), ElementsAre("third"));
}

TEST_P(TargetTreeTest, ParentRemovedInMemoryIsMadeAnew) {
  fs::create_directory(root_ / "memory");
  const ScopedMount mount(root_ / "memory", "tmpfs", 0, "");  // takes unnamed files in removed directories
  if (!mount) GTEST_SKIP() << "needs root to mount";
  expect_ok(put("memory/a/first", "1"));
  fs::remove_all(root_ / "memory/a");
  expect_ok(put("memory/a/second", "2"));
  EXPECT_THAT(names_in(root_ / "memory/a"), ElementsAre("second"));
}

TEST_P(TargetTreeTest, OwnReadOnlyDirectoryIsWrittenInto) {
  root_.give_to_scoped_user();
  const ScopedUser user;
  for (const char* name : {"d1", "d2", "d3"}) ASSERT_EQ(::mkdir((root_ / name).c_str(), 0555), 0);
  expect_ok(put("d1/f", "content"));
  expect_ok(tree_.put_special(symlink_of("d2/s", "x")));
  EXPECT_TRUE(tree_.open_file(entry_of(EntryType::file, "d3/f")).ok());
  expect_ok(tree_.finish_directory(entry_of(EntryType::directory, "d1", 0555)));
  EXPECT_EQ(mode_of(root_ / "d1"), 0555u);
  EXPECT_THAT(names_in(root_ / "d1"), ElementsAre("f"));
  ASSERT_EQ(::chmod((root_ / "d1").c_str(), 0755), 0);  // lets it be removed
}

TEST_P(TargetTreeTest, FullFilesystemIsToldApart) {
  fs::create_directory(root_ / "small");
  const ScopedMount mount(root_ / "small", "tmpfs", 0, "size=64k");
  if (!mount) GTEST_SKIP() << "needs root to mount";
  const io::Fd small(::open((root_ / "small").c_str(), O_RDONLY | O_DIRECTORY));
  TargetTree tree = tree_at(small.get());
  Entry entry = entry_of(EntryType::file, "f");
  entry.size = 200'000;
  OneFile file(entry, std::string(entry.size, 'x'));
  expect_error(tree.put_file(file.entry(), file.content()), ENOSPC, "ROOT/f");
  EXPECT_THAT(names_in(root_ / "small"), IsEmpty());
}

TEST_P(TargetTreeTest, TheReaderOfAnOldFifoNoticesNothing) {
  ASSERT_EQ(::mkfifo((root_ / "fifo").c_str(), 0600), 0);
  const io::Fd reader(::open((root_ / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  errno = 0;
  EXPECT_FALSE(tree_.open_old(own("fifo"), O_RDWR));
  EXPECT_EQ(errno, ENOENT);
  pollfd hung_up{.fd = reader.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&hung_up, 1, 0), 0) << "a writer has come and gone";
}

TEST_P(TargetTreeTest, ReadOnlyFilesystemIsToldApart) {
  fs::create_directory(root_ / "fixed");
  const ScopedMount mount(root_ / "fixed", "tmpfs", MS_RDONLY, "");
  if (!mount) GTEST_SKIP() << "needs root to mount";
  const io::Fd fixed(::open((root_ / "fixed").c_str(), O_RDONLY | O_DIRECTORY));
  TargetTree tree = tree_at(fixed.get());
  OneFile file(entry_of(EntryType::file, "f"), "");
  expect_error(tree.put_file(file.entry(), file.content()), EROFS, "ROOT/f");
  expect_error(tree.put_special(symlink_of("s", "x")), EROFS, "ROOT/s");
  expect_error(tree.finish_directory(entry_of(EntryType::directory, "d")), EROFS, "ROOT/d");
}

// A default ACL, acl(5), that lets another user read what is made in the directory.
void set_default_acl(const std::string& directory) {
  const std::string acl = format_acl({{Tag::user_obj, 7, 0, ""},
                                      {Tag::user, 4, kNobody, ""},
                                      {Tag::group_obj, 5, 0, ""},
                                      {Tag::mask, 5, 0, ""},
                                      {Tag::other, 5, 0, ""}});
  ASSERT_EQ(::setxattr(directory.c_str(), kDefaultAclXattr, acl.data(), acl.size(), 0), 0);
}

TEST_P(TargetTreeTest, DefaultAclOfTheDirectoryOpensNoFileToOthers) {
  fs::create_directory(root_ / "a");
  set_default_acl(root_ / "a");
  expect_ok(put(entry_of(EntryType::file, "a/f", 0666), "content"));
  EXPECT_EQ(mode_of(root_ / "a/f"), 0666u);
  EXPECT_LT(::getxattr((root_ / "a/f").c_str(), kAccessAclXattr, nullptr, 0), 0);
}

TEST_P(TargetTreeTest, DefaultAclSetMeanwhileIsSeen) {
  expect_ok(put("a/first", "1"));
  Entry directory = entry_of(EntryType::directory, "a", 0755);
  directory.default_acl = {{Tag::user_obj, 7, 0, ""}, {Tag::group_obj, 5, 0, ""}, {Tag::other, 0, 0, ""}};
  expect_ok(tree_.finish_directory(directory));
  expect_ok(put(entry_of(EntryType::file, "a/second", 0666), "2"));
  EXPECT_EQ(mode_of(root_ / "a/second"), 0666u);
}

TEST_P(TargetTreeTest, GroupOfASetgidDirectoryIsNotPassedOn) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a directory to another group";
  fs::create_directory(root_ / "a");
  ASSERT_EQ(::chown((root_ / "a").c_str(), 0, kNobody), 0);
  ASSERT_EQ(::chmod((root_ / "a").c_str(), 02755), 0);
  expect_ok(put("a/f", "content"));
  EXPECT_EQ(status_of(root_ / "a/f").st_gid, ::getegid());
}

TEST_P(TargetTreeTest, OwnerIsSet) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give files away";
  Entry entry = entry_of(EntryType::file, "f", 04750);
  entry.uid = 1234;
  entry.gid = 4321;
  expect_ok(put(entry, "content"));
  const struct stat status = status_of(root_ / "f");
  EXPECT_EQ(status.st_uid, 1234u);
  EXPECT_EQ(status.st_gid, 4321u);
  EXPECT_EQ(status.st_mode & 07777, 04750u);
}

TEST_P(TargetTreeTest, LargeFileIsSeenOnceItIsPublished) {
  auto opened = tree_.open_file(entry_of(EntryType::file, "a/large"));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  expect_ok(put("b/small", "x"));  // its parent stays usable whatever the tree does meanwhile
  ASSERT_EQ(::pwrite(opened->file.fd(), "content", 7, 0), 7);
  EXPECT_FALSE(fs::exists(root_ / "a/large"));
  expect_ok(opened->file.publish(opened->directory.get(), "large", "large"));
  EXPECT_EQ(content_of(root_ / "a/large"), "content");
  EXPECT_THAT(names_in(root_ / "a"), ElementsAre("large"));
}

TEST_P(TargetTreeTest, AbandonedLargeFileLeavesNothing) {
  { auto opened = tree_.open_file(entry_of(EntryType::file, "a/large")); }
  EXPECT_THAT(names_in(root_ / "a"), IsEmpty());
}

TEST_P(TargetTreeTest, DirectoryGetsItsMetadataLast) {
  expect_ok(put("a/f", "content"));
  expect_ok(tree_.finish_directory(entry_of(EntryType::directory, "a", 01755)));
  EXPECT_EQ(mode_of(root_ / "a"), 01755u);
  EXPECT_EQ(time_of(root_ / "a"), kTime);
}

TEST_P(TargetTreeTest, MissingDirectoryIsMade) {
  expect_ok(tree_.finish_directory(entry_of(EntryType::directory, "a/empty", 0750)));
  EXPECT_EQ(mode_of(root_ / "a/empty"), 0750u);
  EXPECT_EQ(mode_of(root_ / "a"), 0700u);
}

TEST_P(TargetTreeTest, EmptyPathIsTheRootItself) {
  expect_ok(tree_.finish_directory(entry_of(EntryType::directory, "", 0751)));
  EXPECT_EQ(mode_of(root_.path()), 0751u);
  EXPECT_EQ(time_of(root_.path()), kTime);
}

TEST_P(TargetTreeTest, MessagesNameTheRootToo) {
  EXPECT_EQ(tree_.subject("a/b"), "ROOT/a/b");
  EXPECT_EQ(tree_.subject(""), "ROOT");
}

}  // namespace
}  // namespace rdcp::tree
