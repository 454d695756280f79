#include "tree/target_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scratch_directory.h"
#include "tree/acl.h"
#include "tree/archive.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Tag = AclLine::Tag;

constexpr Timestamp kTime{1'600'000'000, 123'456'789};

Entry entry_of(EntryType type, std::string path, std::uint32_t mode = 0644) {
  Entry entry;
  entry.type = type;
  entry.path = std::move(path);
  entry.mode = mode;
  entry.uid = ::geteuid();
  entry.gid = ::getegid();
  entry.mtime = kTime;
  return entry;
}

Entry symlink_of(std::string path, std::string link_target) {
  Entry entry = entry_of(EntryType::symlink, std::move(path), 0777);
  entry.link_target = std::move(link_target);
  return entry;
}

Entry hard_link_of(std::string path, std::string link_target) {
  Entry entry = entry_of(EntryType::hard_link, std::move(path));
  entry.link_target = std::move(link_target);
  return entry;
}

std::uint32_t mode_of(const std::string& path) {
  return status_of(path).st_mode & 07777;
}

Timestamp time_of(const std::string& path) {
  const struct stat status = status_of(path);
  return {status.st_mtim.tv_sec, static_cast<std::uint32_t>(status.st_mtim.tv_nsec)};
}

// An archive that holds one file, read up to its content.
class OneFile {
 public:
  OneFile(const Entry& entry, std::string_view content) : slot_(ArchiveWriter::bound(entry) + (1 << 16)) {
    ArchiveWriter writer;
    writer.begin(slot_);
    EXPECT_TRUE(writer.add(entry, std::as_bytes(std::span(content))).value());
    const std::size_t length = writer.finish().value();
    EXPECT_TRUE(reader_.open(std::span(slot_).first(length)).ok());
    EXPECT_TRUE(reader_.next(entry_).value());
  }
  Entry& entry() { return entry_; }
  ArchiveReader& content() { return reader_; }

 private:
  std::vector<std::byte> slot_;
  ArchiveReader reader_;
  Entry entry_;
};

// Both ways in which a file gets its name: by a link, and by a rename.
class TargetTreeTest : public testing::TestWithParam<Naming> {
 protected:
  TargetTree tree_at(int root) { return TargetTree(root, "ROOT", policy_, names_, losses_, GetParam()); }
  io::Result<void> put(Entry entry, std::string_view content) {
    entry.size = content.size();
    OneFile file(entry, content);
    return tree_.put_file(file.entry(), file.content());
  }
  io::Result<void> put(const std::string& path, std::string_view content) {
    return put(entry_of(EntryType::file, path), content);
  }

  ScratchDirectory root_;
  ScratchDirectory outside_;
  MetadataPolicy policy_;
  NameTable names_;
  Losses losses_;
  TargetTree tree_ = tree_at(root_.fd());
};

INSTANTIATE_TEST_SUITE_P(Namings, TargetTreeTest, testing::Values(Naming::automatic, Naming::rename),
                         [](const testing::TestParamInfo<Naming>& info) {
                           return std::string(info.param == Naming::rename ? "Rename" : "Automatic");
                         });

void expect_ok(const io::Result<void>& result) {
  EXPECT_TRUE(result.ok()) << result.error().message();
}

void expect_error(const io::Result<void>& result, int code, std::string_view subject) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().message();
  EXPECT_EQ(result.error().subject, subject);
}

void expect_protocol_error(const io::Result<void>& result) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, io::ErrorKind::protocol) << result.error().message();
}

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
    expect_protocol_error(tree_.put_file(file.entry(), file.content()));
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

TEST_P(TargetTreeTest, UnsafePathsAreProtocolErrors) {
  const ScratchDirectory& inside = root_;
  fs::create_directory(inside / "a");
  const std::string outside = "../" + fs::path(outside_.path()).filename().string();
  for (const std::string& path :
       {outside + "/x", std::string(".."), std::string("a/../.."), outside_ / "x"}) {
    Entry entry = entry_of(EntryType::file, "f");
    OneFile file(entry, "");
    file.entry().path = path;
    expect_protocol_error(tree_.put_file(file.entry(), file.content()));
    expect_protocol_error(tree_.put_special(symlink_of(path, "x")));
    expect_protocol_error(tree_.put_special(hard_link_of(path, "a")));
    expect_protocol_error(tree_.put_special(hard_link_of("a/link", path)));
    expect_protocol_error(tree_.finish_directory(entry_of(EntryType::directory, path)));
    EXPECT_FALSE(tree_.open_file(entry_of(EntryType::file, path)).ok());
  }
  expect_protocol_error(tree_.put_special(symlink_of("", "x")));
  EXPECT_THAT(names_in(outside_.path()), IsEmpty());
  EXPECT_THAT(names_in(root_.path()), ElementsAre("a"));
  EXPECT_THAT(names_in(root_ / "a"), IsEmpty());
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

// The rest has nothing to do with how a file gets its name.
class TargetTreeSpecialTest : public TargetTreeTest {};
INSTANTIATE_TEST_SUITE_P(Namings, TargetTreeSpecialTest, testing::Values(Naming::automatic),
                         [](const auto&) { return std::string("Automatic"); });

TEST_P(TargetTreeSpecialTest, SymlinkKeepsItsBytesAndTime) {
  const std::string target = std::string(4000, 'x') + "/..//\xFF\n";
  expect_ok(tree_.put_special(symlink_of("a/s", target)));
  EXPECT_EQ(fs::read_symlink(root_ / "a/s").string(), target);
  EXPECT_EQ(time_of(root_ / "a/s"), kTime);
}

TEST_P(TargetTreeSpecialTest, EqualSymlinkIsNotReplaced) {
  fs::create_symlink("target", root_ / "s");
  const ino_t inode = status_of(root_ / "s").st_ino;
  expect_ok(tree_.put_special(symlink_of("s", "target")));
  EXPECT_EQ(status_of(root_ / "s").st_ino, inode);
  EXPECT_EQ(time_of(root_ / "s"), kTime);
}

TEST_P(TargetTreeSpecialTest, OtherSymlinkIsReplaced) {
  for (const char* old : {"targe", "target2", "x"}) {
    fs::remove(root_ / "s");
    fs::create_symlink(old, root_ / "s");
    expect_ok(tree_.put_special(symlink_of("s", "target")));
    EXPECT_EQ(fs::read_symlink(root_ / "s"), "target");
  }
  EXPECT_THAT(names_in(root_.path()), ElementsAre("s"));
}

TEST_P(TargetTreeSpecialTest, SymlinkWithNulIsAProtocolError) {
  expect_protocol_error(tree_.put_special(symlink_of("s", std::string("a\0b", 3))));
  EXPECT_THAT(names_in(root_.path()), IsEmpty());
}

TEST_P(TargetTreeSpecialTest, NodesHaveTypeModeAndTime) {
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

TEST_P(TargetTreeSpecialTest, FileIsReplacedByANode) {
  write_file(root_ / "f", "old");
  expect_ok(tree_.put_special(entry_of(EntryType::fifo, "f")));
  EXPECT_TRUE(S_ISFIFO(status_of(root_ / "f").st_mode));
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f"));
}

TEST_P(TargetTreeSpecialTest, DeviceNodeHasItsNumbers) {
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

TEST_P(TargetTreeSpecialTest, DeviceNodeWithoutPrivilegeIsALoss) {
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

TEST_P(TargetTreeSpecialTest, HardLinkIsTheSameInode) {
  expect_ok(put("a/f", "content"));
  expect_ok(tree_.put_special(hard_link_of("b/c/link", "a/f")));
  expect_ok(tree_.put_special(hard_link_of("top", "a/f")));
  EXPECT_EQ(status_of(root_ / "b/c/link").st_ino, status_of(root_ / "a/f").st_ino);
  EXPECT_EQ(status_of(root_ / "a/f").st_nlink, 3u);
}

TEST_P(TargetTreeSpecialTest, HardLinkReplacesWhatIsThere) {
  expect_ok(put("f", "content"));
  write_file(root_ / "link", "old");
  for (int round = 0; round < 2; ++round) {  // the second time it is there already
    expect_ok(tree_.put_special(hard_link_of("link", "f")));
    EXPECT_EQ(status_of(root_ / "link").st_ino, status_of(root_ / "f").st_ino);
  }
  EXPECT_EQ(status_of(root_ / "f").st_nlink, 2u);
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f", "link"));
}

TEST_P(TargetTreeSpecialTest, HardLinkToItselfIsKept) {
  expect_ok(put("f", "content"));
  expect_ok(tree_.put_special(hard_link_of("f", "f")));
  EXPECT_EQ(content_of(root_ / "f"), "content");
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f"));
}

TEST_P(TargetTreeSpecialTest, HardLinkFollowsNoSymlink) {
  write_file(outside_ / "secret", "secret");
  fs::create_symlink(outside_ / "secret", root_ / "planted");
  fs::create_directory_symlink(outside_.path(), root_ / "out");
  expect_ok(tree_.put_special(hard_link_of("link", "planted")));
  EXPECT_TRUE(S_ISLNK(status_of(root_ / "link").st_mode));
  expect_error(tree_.put_special(hard_link_of("link2", "out/secret")), ELOOP, "ROOT/out");
  EXPECT_EQ(status_of(outside_ / "secret").st_nlink, 1u);
  EXPECT_THAT(names_in(root_.path()), ElementsAre("link", "out", "planted"));
}

TEST_P(TargetTreeSpecialTest, HardLinkToNothingIsAnError) {
  expect_error(tree_.put_special(hard_link_of("link", "missing")), ENOENT, "ROOT/link");
  expect_error(tree_.put_special(hard_link_of("link", "no/where")), ENOENT, "ROOT/no");
  EXPECT_THAT(names_in(root_.path()), IsEmpty());
}

TEST_P(TargetTreeSpecialTest, DirectoryGetsItsMetadataLast) {
  expect_ok(put("a/f", "content"));
  expect_ok(tree_.finish_directory(entry_of(EntryType::directory, "a", 01755)));
  EXPECT_EQ(mode_of(root_ / "a"), 01755u);
  EXPECT_EQ(time_of(root_ / "a"), kTime);
}

TEST_P(TargetTreeSpecialTest, MissingDirectoryIsMade) {
  expect_ok(tree_.finish_directory(entry_of(EntryType::directory, "a/empty", 0750)));
  EXPECT_EQ(mode_of(root_ / "a/empty"), 0750u);
  EXPECT_EQ(mode_of(root_ / "a"), 0700u);
}

TEST_P(TargetTreeSpecialTest, EmptyPathIsTheRootItself) {
  expect_ok(tree_.finish_directory(entry_of(EntryType::directory, "", 0751)));
  EXPECT_EQ(mode_of(root_.path()), 0751u);
  EXPECT_EQ(time_of(root_.path()), kTime);
}

TEST_P(TargetTreeSpecialTest, MessagesNameTheRootToo) {
  EXPECT_EQ(tree_.subject("a/b"), "ROOT/a/b");
  EXPECT_EQ(tree_.subject(""), "ROOT");
}

}  // namespace
}  // namespace rdcp::tree
