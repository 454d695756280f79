#include "tree/fs/unnamed_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "tests/tree/fs/broken_close.h"
#include "tests/tree/scratch_directory.h"
#include "tree/fs/heard_close.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

// Each way in which a file comes to its name; what is seen of it afterwards is the same.
class UnnamedFileTest : public testing::TestWithParam<Naming> {
 protected:
  UnnamedFile create(std::string_view name, std::uint32_t mode = 0644) {
    auto file = UnnamedFile::create(root_.fd(), name, mode, name, GetParam());
    EXPECT_TRUE(file.ok()) << file.error().message();
    return std::move(*file);
  }
  UnnamedFile create_with(std::string_view name, std::string_view content) {
    UnnamedFile file = create(name);
    EXPECT_EQ(::write(file.fd(), content.data(), content.size()), static_cast<ssize_t>(content.size()));
    return file;
  }
  io::Result<void> publish(UnnamedFile& file, std::string_view name) {
    return file.publish(root_.fd(), name, name);
  }

  ScratchDirectory root_;
};

std::string name_of(const testing::TestParamInfo<Naming>& info) {
  switch (info.param) {
    case Naming::automatic:
      return "Automatic";
    case Naming::link_descriptor:
      return "LinkDescriptor";
    case Naming::link_proc:
      return "LinkProc";
    case Naming::rename:
      return "Rename";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Namings, UnnamedFileTest,
                         testing::Values(Naming::automatic, Naming::link_proc, Naming::rename), name_of);

TEST_P(UnnamedFileTest, IsNotSeenUnderItsNameBeforePublish) {
  UnnamedFile file = create_with("f", "content");
  EXPECT_FALSE(fs::exists(root_ / "f"));
  ASSERT_TRUE(publish(file, "f").ok());
  EXPECT_EQ(content_of(root_ / "f"), "content");
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f"));
}

TEST_P(UnnamedFileTest, LeavesNothingWithoutPublish) {
  { const UnnamedFile file = create_with("f", "content"); }
  EXPECT_THAT(names_in(root_.path()), IsEmpty());
}

TEST_P(UnnamedFileTest, StaysOnceItIsPublished) {
  {
    UnnamedFile file = create_with("f", "content");
    ASSERT_TRUE(publish(file, "f").ok());
  }
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f"));
}

TEST_P(UnnamedFileTest, ExistingFileIsIntactUntilItIsReplaced) {
  write_file(root_ / "f", "old");
  fs::create_hard_link(root_ / "f", root_ / "other_name");
  { const UnnamedFile abandoned = create_with("f", "abandoned"); }
  UnnamedFile file = create_with("f", "new");
  EXPECT_EQ(content_of(root_ / "f"), "old");
  ASSERT_TRUE(publish(file, "f").ok());
  EXPECT_EQ(content_of(root_ / "f"), "new");
  EXPECT_EQ(content_of(root_ / "other_name"), "old");
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f", "other_name"));
}

TEST_P(UnnamedFileTest, ReplacesASymlinkAndNotWhatItPointsTo) {
  write_file(root_ / "pointed_to", "old");
  fs::create_symlink("pointed_to", root_ / "f");
  UnnamedFile file = create_with("f", "new");
  ASSERT_TRUE(publish(file, "f").ok());
  EXPECT_TRUE(S_ISREG(status_of(root_ / "f").st_mode));
  EXPECT_EQ(content_of(root_ / "f"), "new");
  EXPECT_EQ(content_of(root_ / "pointed_to"), "old");
}

TEST_P(UnnamedFileTest, DirectoryInItsPlaceIsAnErrorAndStays) {
  fs::create_directory(root_ / "f");
  {
    UnnamedFile file = create_with("f", "new");
    const auto published = publish(file, "f");
    ASSERT_FALSE(published.ok());
    EXPECT_EQ(published.error().code, EISDIR) << published.error().message();
    EXPECT_EQ(published.error().subject, "f");
  }
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f"));
  EXPECT_TRUE(fs::is_directory(root_ / "f"));
}

TEST_P(UnnamedFileTest, HasTheModeThatItTells) {
  for (const std::uint32_t mode : {0000u, 0600u, 0644u, 0777u}) {
    const UnnamedFile file = create("f", mode);
    struct stat status {};
    ASSERT_EQ(::fstat(file.fd(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, file.created_mode());
    EXPECT_EQ(file.created_mode() & ~mode, 0u);
  }
}

TEST_P(UnnamedFileTest, HasNoSetIdBitsBeforeItsOwnerIsSet) {
  const UnnamedFile file = create("f", 06755);
  struct stat status {};
  ASSERT_EQ(::fstat(file.fd(), &status), 0);
  EXPECT_EQ(status.st_mode & 07000, 0u);
}

TEST_P(UnnamedFileTest, NameMayBeAsLongAsTheKernelTakes) {
  const std::string name(255, 'n');
  for (int round = 0; round < 2; ++round) {  // the second one replaces the first
    UnnamedFile file = create_with(name, std::to_string(round));
    ASSERT_TRUE(publish(file, name).ok());
    EXPECT_EQ(content_of(root_ / name), std::to_string(round));
  }
  EXPECT_THAT(names_in(root_.path()), ElementsAre(name));
}

TEST_P(UnnamedFileTest, FailedPublishLeavesNothing) {
  {
    UnnamedFile file = create_with("f", "content");
    const auto published = publish(file, std::string(256, 'n'));
    ASSERT_FALSE(published.ok());
    EXPECT_EQ(published.error().code, ENAMETOOLONG);
  }
  EXPECT_THAT(names_in(root_.path()), IsEmpty());
}

// NFS and quotas tell of lost bytes at close(2).
TEST_P(UnnamedFileTest, CloseIsHeardWhereItIsNotKnownToBeSilent) {
  ASSERT_TRUE(close_is_silent(root_.fd())) << "tests lie on a filesystem of this host";
  UnnamedFile file = create_with("file", "content");
  {
    const BrokenClose broken(root_.path());
    EXPECT_FALSE(close_is_silent(root_.fd()));
    const auto published = publish(file, "file");
    ASSERT_FALSE(published);
    EXPECT_EQ(published.error().code, EDQUOT);
    EXPECT_FALSE(fs::exists(root_ / "file"));
  }
  UnnamedFile other = create_with("other", "content");
  ASSERT_TRUE(publish(other, "other").ok());
  EXPECT_TRUE(fs::exists(root_ / "other"));
}

TEST_P(UnnamedFileTest, MovesAsAWhole) {
  UnnamedFile first = create_with("f", "first");
  UnnamedFile second = create_with("f", "second");
  UnnamedFile moved = std::move(first);
  moved = std::move(second);  // "first" has nobody any more
  ASSERT_TRUE(publish(moved, "f").ok());
  EXPECT_TRUE(moved.close("f").ok());
  EXPECT_EQ(content_of(root_ / "f"), "second");
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f"));
}

TEST_P(UnnamedFileTest, NeedsNobodyElseToCleanUp) {
  {
    io::Fd directory(::open(root_.path().c_str(), O_RDONLY | O_DIRECTORY));
    auto file = UnnamedFile::create(directory.get(), "f", 0644, "f", GetParam());
    ASSERT_TRUE(file.ok());
    directory.reset();
  }
  EXPECT_THAT(names_in(root_.path()), IsEmpty());
}

TEST_P(UnnamedFileTest, ForeignDirectoryIsAnErrorWithItsErrno) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to own a directory that the user does not";
  ASSERT_EQ(::chmod(root_.path().c_str(), 0755), 0);
  const ScopedUser user;
  const auto file = UnnamedFile::create(root_.fd(), "f", 0644, "f", GetParam());
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, EACCES);
}

TEST_P(UnnamedFileTest, UserWithoutPrivilegesPublishesToo) {
  root_.give_to_scoped_user();
  const ScopedUser user;
  UnnamedFile file = create_with("f", "content");
  EXPECT_TRUE(publish(file, "f").ok());
  EXPECT_THAT(names_in(root_.path()), ElementsAre("f"));
}

TEST(UnnamedFile, WithoutANameIsInNoListing) {
  const ScratchDirectory root;
  const auto file = UnnamedFile::create(root.fd(), "f", 0644, "f");
  ASSERT_TRUE(file.ok());
  if (file->naming() == Naming::rename) GTEST_SKIP() << "no O_TMPFILE on " << root.path();
  EXPECT_THAT(names_in(root.path()), IsEmpty());
}

TEST(UnnamedFile, TemporaryNameTellsWhoseItIsAndIsForItsOwnerOnly) {
  const ScratchDirectory root;
  const auto file = UnnamedFile::create(root.fd(), "f", 0666, "f", Naming::rename);
  ASSERT_TRUE(file.ok());
  const auto names = names_in(root.path());
  ASSERT_THAT(
      names, ElementsAre(AllOf(StartsWith(".f.rdcp-"), SizeIs(std::string_view(".f.rdcp-01234567").size()))));
  EXPECT_EQ(status_of(root / names[0]).st_mode & 07777, 0600u);
}

TEST(UnnamedFile, TakesATemporaryNameWhereTheFilesystemHasNoUnnamedFiles) {
  const ScratchDirectory root;
  fs::create_directory(root / "mqueue");
  // POSIX message queues: files, but no O_TMPFILE.
  const ScopedMount mount(root / "mqueue", "mqueue", 0, "");
  if (!mount) GTEST_SKIP() << "needs root to mount";
  const io::Fd directory(::open((root / "mqueue").c_str(), O_RDONLY | O_DIRECTORY));
  const auto before = names_in(root / "mqueue");
  {
    const auto file = UnnamedFile::create(directory.get(), "rdcp-test", 0600, "rdcp-test");
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_EQ(file->naming(), Naming::rename);
    EXPECT_THAT(names_in(root / "mqueue"), SizeIs(before.size() + 1));
  }
  EXPECT_EQ(names_in(root / "mqueue"), before);
}

}  // namespace
}  // namespace rdcp::tree
