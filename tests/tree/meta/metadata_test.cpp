#include "tree/meta/metadata.h"

#include <gmock/gmock.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <utility>

#include "tests/tree/meta/metadata_fixture.h"

namespace rdcp::tree {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Losses, AreCountedWithTheirFirstExample) {
  Losses losses;
  losses.note(LossKind::acl, "first", "cause");
  losses.note(LossKind::acl, "second", "another");
  losses.note(LossKind::times, "third", "late");
  const auto items = losses.items();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].kind, LossKind::acl);
  EXPECT_EQ(items[0].count, 2u);
  EXPECT_EQ(items[0].first_path, "first");
  EXPECT_EQ(items[0].cause, "cause");
  EXPECT_EQ(items[1].kind, LossKind::times);
}

TEST(Losses, EachKindIsDescribed) {
  for (std::size_t kind = 0; kind < static_cast<std::size_t>(LossKind::kCount); ++kind) {
    EXPECT_FALSE(describe(static_cast<LossKind>(kind)).empty());
  }
}

TEST_F(Metadata, StatFillsAFile) {
  struct stat status {};
  status.st_mode = S_IFREG | 04755;
  status.st_uid = 0;
  status.st_gid = kUnknownId;
  status.st_size = 77;
  status.st_rdev = makedev(1, 2);
  status.st_mtim = {-5, 6};
  fill_from_stat(status, policy_, names_, entry_);
  EXPECT_EQ(entry_.type, EntryType::file);
  EXPECT_EQ(entry_.mode, 04755u);
  EXPECT_EQ(entry_.user, "root");
  EXPECT_EQ(entry_.gid, kUnknownId);
  EXPECT_EQ(entry_.group, "");
  EXPECT_EQ(entry_.size, 77u);
  EXPECT_EQ(entry_.device, 0u);
  EXPECT_EQ(entry_.mtime, (Timestamp{-5, 6}));
}

TEST_F(Metadata, StatFillsTypesAndDevices) {
  struct stat status {};
  status.st_size = 4096;
  status.st_rdev = makedev(8, 1);
  const std::pair<mode_t, EntryType> types[] = {
      {S_IFDIR, EntryType::directory}, {S_IFLNK, EntryType::symlink},     {S_IFIFO, EntryType::fifo},
      {S_IFSOCK, EntryType::socket},   {S_IFCHR, EntryType::char_device}, {S_IFBLK, EntryType::block_device}};
  for (const auto& [mode, type] : types) {
    status.st_mode = mode | 0600;
    fill_from_stat(status, policy_, names_, entry_);
    EXPECT_EQ(entry_.type, type);
    EXPECT_EQ(entry_.size, 0u);
    EXPECT_EQ(entry_.device != 0, type == EntryType::char_device || type == EntryType::block_device);
  }
}

TEST_F(Metadata, NumericIdsLeaveNamesOut) {
  policy_.numeric_ids = true;
  struct stat status {};
  status.st_mode = S_IFREG;
  fill_from_stat(status, policy_, names_, entry_);
  EXPECT_EQ(entry_.user, "");
  EXPECT_EQ(entry_.group, "");
}

TEST_F(Metadata, ModeAndTimeAreSet) {
  const io::Fd file = make_file();
  apply(file.get());
  EXPECT_EQ(status(file.get()).st_mode & 07777, 0640u);
  EXPECT_EQ(status(file.get()).st_mtim.tv_sec, 1'600'000'000);
  EXPECT_EQ(status(file.get()).st_mtim.tv_nsec, 123'456'789);
  EXPECT_THAT(lost(), ElementsAre());
}

// A filesystem of libfuse 2 sets both times or none.
TEST_F(Metadata, BothTimesAreSetAtOnce) {
  const io::Fd file = make_file();
  const timespec old[2] = {{5, 0}, {5, 0}};
  ASSERT_EQ(::futimens(file.get(), old), 0);
  apply(file.get());
  EXPECT_EQ(status(file.get()).st_mtim.tv_sec, entry_.mtime.seconds);
  EXPECT_NE(status(file.get()).st_atim.tv_sec, 5);
}

TEST_F(Metadata, TimeBefore1970IsSet) {
  const io::Fd file = make_file();
  entry_.mtime = {-2, 500'000'000};
  apply(file.get());
  EXPECT_EQ(status(file.get()).st_mtim.tv_sec, -2);
  EXPECT_EQ(status(file.get()).st_mtim.tv_nsec, 500'000'000);
}

TEST_F(Metadata, TimeThatTheFilesystemClampsIsALoss) {
  const io::Fd file = make_file();
  entry_.mtime = {std::int64_t{1} << 60, 0};
  apply(file.get());
  if (status(file.get()).st_mtim.tv_sec == entry_.mtime.seconds)
    GTEST_SKIP() << "this filesystem stores any time";
  EXPECT_THAT(lost(), ElementsAre(LossKind::times));
}

TEST_F(Metadata, SetIdBitsAreSetEvenWhenBornWithThem) {
  const io::Fd file = make_file();
  entry_.mode = 06755;
  apply(file.get(), 06755 | kBornPlain);
  EXPECT_EQ(status(file.get()).st_mode & 07777, 06755u);
  EXPECT_THAT(lost(), ElementsAre());
}

TEST_F(Metadata, ClosedDescriptorIsAnErrorThatNamesTheFile) {
  const auto applied = apply_metadata(-1, entry_, ~0u, {policy_, names_, losses_}, "the file");
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.error().subject, "the file");
  EXPECT_EQ(applied.error().code, EBADF);
}

TEST_F(Metadata, FilesInAnOrdinaryDirectoryAreBornPlain) {
  const io::Fd directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const io::Fd file = make_file();
  EXPECT_TRUE(files_are_born_plain(directory.get(), file.get()));
}

TEST_F(Metadata, SymlinkItselfIsChangedNotItsTarget) {
  const io::Fd file = make_file();
  const struct stat before = status(file.get());
  ASSERT_EQ(::symlink("file", path("link").c_str()), 0);
  const io::Fd link = hold("link");
  entry_.type = EntryType::symlink;
  apply_path_fd(link.get());
  EXPECT_EQ(status(link.get()).st_mtim.tv_nsec, 123'456'789);
  EXPECT_EQ(status(file.get()).st_mode, before.st_mode);
  EXPECT_EQ(status(file.get()).st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  EXPECT_THAT(lost(), ElementsAre());
}

TEST_F(Metadata, DanglingSymlinkIsReadAndChanged) {
  ASSERT_EQ(::symlink("nowhere", path("link").c_str()), 0);
  const io::Fd link = hold("link");
  entry_.type = EntryType::symlink;
  read(link.get(), true);
  apply_path_fd(link.get());
  EXPECT_EQ(status(link.get()).st_mtim.tv_sec, 1'600'000'000);
}

TEST_F(Metadata, FifoHeldByPathDescriptorIsChanged) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const io::Fd fifo = hold("fifo");
  entry_.type = EntryType::fifo;
  apply_path_fd(fifo.get());
  EXPECT_EQ(status(fifo.get()).st_mode & 07777, 0640u);
  EXPECT_EQ(status(fifo.get()).st_mtim.tv_nsec, 123'456'789);
}

TEST_F(MetadataAsRoot, OwnerIsSetByNumberWhereTheNameIsUnknown) {
  const io::Fd file = make_file();
  entry_.uid = kOrdinaryId;
  entry_.gid = kOrdinaryId + 1;
  entry_.user = entry_.group = "rdcp-nobody-has-this-name";
  apply(file.get());
  EXPECT_EQ(status(file.get()).st_uid, kOrdinaryId);
  EXPECT_EQ(status(file.get()).st_gid, kOrdinaryId + 1);
}

TEST_F(MetadataAsRoot, NameDecidesUnlessNumericIdsAreAskedFor) {
  const io::Fd file = make_file();
  entry_.uid = entry_.gid = kOrdinaryId;
  entry_.user = entry_.group = "root";
  apply(file.get());
  EXPECT_EQ(status(file.get()).st_uid, 0u);
  policy_.numeric_ids = true;
  apply(file.get());
  EXPECT_EQ(status(file.get()).st_uid, kOrdinaryId);
  EXPECT_EQ(status(file.get()).st_gid, kOrdinaryId);
}

TEST_F(MetadataAsRoot, SetIdBitsSurviveTheChangeOfOwner) {
  const io::Fd file = make_file(06755);
  entry_.uid = entry_.gid = kOrdinaryId;
  entry_.mode = 06755;
  apply(file.get());
  EXPECT_EQ(status(file.get()).st_mode & 07777, 06755u);
}

TEST_F(MetadataAsRoot, SetIdBitsAreDroppedWhereTheOwnerIsNotKept) {
  const io::Fd file = make_file();
  policy_.owner = false;
  entry_.uid = kOrdinaryId;
  entry_.mode = 06755;
  apply(file.get());
  EXPECT_EQ(status(file.get()).st_mode & 07777, 0755u);
  EXPECT_EQ(status(file.get()).st_uid, 0u);
  EXPECT_THAT(lost(), ElementsAre(LossKind::set_id_bits));
}

TEST_F(MetadataAsRoot, GroupOfASetgidDirectoryIsMended) {
  const io::Fd directory = make_directory();
  ASSERT_EQ(::fchown(directory.get(), 0, kOrdinaryId), 0);
  ASSERT_EQ(::fchmod(directory.get(), 02755), 0);
  const io::Fd file(::openat(directory.get(), "f", O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  EXPECT_FALSE(files_are_born_plain(directory.get(), file.get()));
  ASSERT_EQ(status(file.get()).st_gid, kOrdinaryId);
  apply(file.get(), 0640);
  EXPECT_EQ(status(file.get()).st_gid, 0u);
}

TEST_F(MetadataAsRoot, OrdinaryUserLosesTheOwnerAndTheSetIdBits) {
  as_ordinary_user([this] {
    const io::Fd file = make_file();
    entry_.mode = 04755;
    apply(file.get());
    EXPECT_EQ(status(file.get()).st_uid, kOrdinaryId);
    EXPECT_EQ(status(file.get()).st_mode & 07777, 0755u);
    EXPECT_THAT(lost(), ElementsAre(LossKind::owner, LossKind::set_id_bits));
    EXPECT_THAT(losses_.items()[0].cause, HasSubstr("not permitted"));
  });
}

TEST_F(MetadataAsRoot, OrdinaryUserKeepsTheirOwnFiles) {
  as_ordinary_user([this] {
    const io::Fd file = make_file();
    entry_.uid = entry_.gid = kOrdinaryId;
    entry_.mode = 06755;
    apply(file.get());
    EXPECT_EQ(status(file.get()).st_mode & 07777, 06755u);
    EXPECT_THAT(lost(), ElementsAre());
  });
}

TEST_F(MetadataAsRoot, OrdinaryUserCannotChangeTheModeOfAnothersFile) {
  const io::Fd file = make_file();
  as_ordinary_user([this, &file] {
    const auto applied = apply_metadata(file.get(), entry_, ~0u, {policy_, names_, losses_}, "the file");
    EXPECT_FALSE(applied.ok());
    EXPECT_EQ(applied.error().code, EPERM);
  });
}

}  // namespace
}  // namespace rdcp::tree
