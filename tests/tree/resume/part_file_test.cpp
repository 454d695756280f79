// Partial files, their journals, and who may go on with them.
#include "tree/resume/part_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "tests/tree/scratch_directory.h"
#include "tree/fs/own_names.h"
#include "tree/meta/acl.h"

namespace rdcp::tree {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSize = 20 * kMiB;

SourceState state_of(int number, std::uint64_t size = kSize) {
  SourceState state{.token = {}, .size = size};
  state.token.bytes[0] = static_cast<std::byte>(number);
  return state;
}

class PartFileTest : public ::testing::Test {
 protected:
  std::optional<PartFile> open(const PartWish& wish, std::string_view name = "file") {
    return PartFile::open(directory_.get(), name, wish);
  }
  std::optional<PartFile> open(int number = 1, bool resume = true, bool doubt = false) {
    return open({.source = state_of(number), .resume = resume, .doubt = doubt});
  }
  // As a run that was killed leaves it: three chunks, of which the second is missing.
  void leave_part() {
    auto part = open();
    ASSERT_TRUE(part);
    for (const std::uint64_t chunk : {0, 2}) {
      part->journal().add(chunk * kMiB, kMiB, io::digest_of(std::as_bytes(std::span("a", 1))));
    }
  }
  bool exists(const std::string& name) {
    struct stat status {};
    return ::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  }
  std::string path(const std::string& name) { return scratch_.path() + "/" + name; }

  ScratchDirectory scratch_;
  io::Fd directory_{::open(scratch_.path().c_str(), O_RDONLY | O_DIRECTORY)};
  const PartNames names_{"file"};
};

TEST_F(PartFileTest, WhatWasRecordedIsThere) {
  leave_part();
  auto part = open();
  ASSERT_TRUE(part);
  const Journal& journal = part->journal();
  EXPECT_TRUE(journal.has_any());
  EXPECT_TRUE(journal.holds(0, kMiB));
  EXPECT_TRUE(journal.holds(4096, 8192));
  EXPECT_TRUE(journal.holds(2 * kMiB, kMiB));
  EXPECT_FALSE(journal.holds(0, kMiB + 1));
  EXPECT_FALSE(journal.holds(kMiB, 1));
  EXPECT_FALSE(journal.holds(3 * kMiB, 1));
}

TEST_F(PartFileTest, WhatIsAddedGoesBehindWhatWasThere) {
  leave_part();
  open()->journal().add(kMiB, kMiB, {});
  auto part = open();
  EXPECT_TRUE(part->journal().holds(0, 3 * kMiB));
}

// As on exFAT, whose modes are those of the mount.
TEST_F(PartFileTest, NothingStaysWhereFilesHaveOtherModesThanTheyAreMadeWith) {
  const std::string acl = format_acl({{AclLine::Tag::user_obj, 4, 0, ""},
                                      {AclLine::Tag::group_obj, 0, 0, ""},
                                      {AclLine::Tag::other, 0, 0, ""}});
  if (::fsetxattr(directory_.get(), kDefaultAclXattr, acl.data(), acl.size(), 0) != 0) {
    GTEST_SKIP() << "no ACLs here";
  }
  EXPECT_FALSE(open());
  EXPECT_TRUE(names_in(scratch_.path()).empty());
}

TEST_F(PartFileTest, BothNamesAreOurs) {
  leave_part();
  EXPECT_EQ(own_name(names_.part), OwnName::part);
  EXPECT_EQ(own_name(names_.journal), OwnName::journal);
  EXPECT_EQ(part_of_journal(names_.journal), names_.part);
  EXPECT_EQ(journal_of_part(names_.part), names_.journal);
  EXPECT_EQ(own_name(".file.rdcp-0123abcd"), OwnName::temporary);
  for (const char* other :
       {"file", ".rdcp-0.part", ".rdcp-", "x.rdcp-0123abcd", ".file.rdcp-0123ABCD", ".rdcp-0123abcd"}) {
    EXPECT_EQ(own_name(other), OwnName::none) << other;
  }
  EXPECT_TRUE(exists(names_.part));
  EXPECT_TRUE(exists(names_.journal));
}

TEST_F(PartFileTest, AnotherStateOfTheSourceStartsAnew) {
  leave_part();
  EXPECT_FALSE(open(2)->journal().has_any());
  EXPECT_FALSE(open(1)->journal().has_any()) << "what was dropped is gone";
}

TEST_F(PartFileTest, AnotherSizeStartsAnew) {
  leave_part();
  EXPECT_FALSE(open({.source = state_of(1, kSize + 1)})->journal().has_any());
}

TEST_F(PartFileTest, WhoDoesNotWantToResumeStartsAnew) {
  leave_part();
  EXPECT_FALSE(open(1, false)->journal().has_any());
}

TEST_F(PartFileTest, TwoRunsDoNotShareAPart) {
  auto first = open();
  ASSERT_TRUE(first);
  EXPECT_FALSE(open());
  first.reset();
  EXPECT_TRUE(open());
}

TEST_F(PartFileTest, PublishedAndForgotten) {
  auto part = open();
  UnnamedFile file = part->take_file();
  ASSERT_TRUE(file.publish(directory_.get(), "file", "file").ok());
  EXPECT_TRUE(part->forget_journal().ok());
  EXPECT_TRUE(exists("file"));
  EXPECT_FALSE(exists(names_.part));
  EXPECT_FALSE(exists(names_.journal));
}

TEST_F(PartFileTest, DroppedIsGone) {
  auto part = open();
  EXPECT_TRUE(part->drop().ok());
  EXPECT_FALSE(exists(names_.part));
  EXPECT_FALSE(exists(names_.journal));
}

TEST_F(PartFileTest, ForgottenIsGoneUnlessARunIsAtIt) {
  auto part = open();
  EXPECT_TRUE(PartFile::forget(directory_.get(), "file").ok());
  EXPECT_TRUE(exists(names_.part));
  part.reset();
  EXPECT_TRUE(PartFile::forget(directory_.get(), "file").ok());
  EXPECT_FALSE(exists(names_.part));
  EXPECT_FALSE(exists(names_.journal));
}

TEST_F(PartFileTest, DoubtfulRecordsAreThereOnlyOnceConfirmed) {
  leave_part();
  auto part = open(1, true, true);
  Journal& journal = part->journal();
  EXPECT_TRUE(journal.has_any());
  EXPECT_FALSE(journal.holds(0, kMiB));
  EXPECT_FALSE(journal.take_doubtful(kMiB, kMiB));
  const auto first = journal.take_doubtful(kMiB / 2, kMiB);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->offset, 0u);
  EXPECT_EQ(first->length, kMiB);
  EXPECT_FALSE(journal.take_doubtful(0, kMiB)) << "asked for once only";
  journal.confirm(*first);
  EXPECT_TRUE(journal.holds(0, kMiB));
  EXPECT_TRUE(journal.take_doubtful(0, kSize));
  EXPECT_FALSE(journal.take_doubtful(0, kSize));
}

TEST_F(PartFileTest, OfAnotherMountEveryRecordIsDoubtful) {
  leave_part();
  auto part = open({.source = state_of(1), .stamp_of = [](int) { return std::optional<std::uint64_t>(7); }});
  EXPECT_FALSE(part->journal().holds(0, kMiB));
  EXPECT_TRUE(part->journal().take_doubtful(0, kMiB));
}

TEST_F(PartFileTest, WithoutAStampEveryRecordIsDoubtful) {
  const PartWish wish{.source = state_of(1), .stamp_of = [](int) { return std::optional<std::uint64_t>(); }};
  open(wish)->journal().add(0, kMiB, io::digest_of(std::as_bytes(std::span("a", 1))));
  for (int i = 0; i < 2; ++i) {
    auto part = open(wish);
    EXPECT_TRUE(part->journal().has_any());
    EXPECT_FALSE(part->journal().holds(0, kMiB)) << "two mounts that are not known are not the same";
  }
  auto part = open();
  EXPECT_FALSE(part->journal().holds(0, kMiB));
  EXPECT_TRUE(part->journal().take_doubtful(0, kMiB));
}

TEST_F(PartFileTest, WithoutADigestNothingCanBeConfirmed) {
  open()->journal().add_without_digest(0, kMiB);
  EXPECT_TRUE(open()->journal().holds(0, kMiB));
  EXPECT_FALSE(open(1, true, true)->journal().take_doubtful(0, kSize));
}

TEST_F(PartFileTest, AFlippedBitSpoilsItsRecordOnly) {
  leave_part();
  {
    std::fstream journal(path(names_.journal));
    journal.seekp(Journal::kHeaderBytes + 2);
    journal.put('\x10');
  }
  auto part = open();
  EXPECT_FALSE(part->journal().holds(0, kMiB));
  EXPECT_TRUE(part->journal().holds(2 * kMiB, kMiB));
}

TEST_F(PartFileTest, AFlippedBitInTheHeaderSpoilsAll) {
  for (const int at : {0, 8, 12, 16, 32, 40, 48, 500, 511}) {
    leave_part();
    {
      std::fstream journal(path(names_.journal));
      journal.seekg(at);
      const int byte = journal.get();
      journal.seekp(at);
      journal.put(static_cast<char>(byte ^ 1));
    }
    EXPECT_FALSE(open()->journal().has_any()) << at;
  }
}

TEST_F(PartFileTest, ARecordThatWasCutShortIsPassedOver) {
  leave_part();
  ASSERT_EQ(::truncate(path(names_.journal).c_str(), Journal::kHeaderBytes + Journal::kRecordBytes + 7), 0);
  open()->journal().add(5 * kMiB, kMiB, {});
  auto part = open();
  EXPECT_TRUE(part->journal().holds(0, kMiB));
  EXPECT_FALSE(part->journal().holds(2 * kMiB, kMiB));
  EXPECT_TRUE(part->journal().holds(5 * kMiB, kMiB));
}

TEST_F(PartFileTest, RecordsOutsideTheFileAreNone) {
  open()->journal().add(kSize - kMiB, 2 * kMiB, {});
  open()->journal().add(~std::uint64_t{0} - 4095, kMiB, {});
  open()->journal().add(0, 0, {});
  EXPECT_FALSE(open()->journal().has_any());
}

TEST_F(PartFileTest, GarbageIsStartedOver) {
  std::ofstream(path(names_.journal)) << std::string(100'000, 'x');
  ASSERT_EQ(::chmod(path(names_.journal).c_str(), 0600), 0);
  auto part = open();
  ASSERT_TRUE(part);
  EXPECT_FALSE(part->journal().has_any());
  struct stat status {};
  ASSERT_EQ(::stat(path(names_.journal).c_str(), &status), 0);
  EXPECT_EQ(status.st_size, static_cast<off_t>(Journal::kHeaderBytes));
}

TEST_F(PartFileTest, AJournalOfAHugeLengthIsReadToItsBoundOnly) {
  leave_part();
  ASSERT_EQ(::truncate(path(names_.journal).c_str(), off_t{1} << 40), 0);
  auto part = open();
  ASSERT_TRUE(part);
  EXPECT_TRUE(part->journal().holds(0, kMiB));
}

TEST_F(PartFileTest, WhatIsNotOursIsLeftAlone) {
  const auto journal = path(names_.journal);
  const auto part = path(names_.part);
  const auto refused = [&](const char* what) {
    EXPECT_FALSE(open()) << what;
    ::unlink(journal.c_str());
    ::unlink(part.c_str());
  };
  std::ofstream(path("victim")) << "precious";
  ASSERT_EQ(::symlink("victim", journal.c_str()), 0);
  refused("the journal is a symlink");
  ASSERT_EQ(::mkfifo(journal.c_str(), 0600), 0);
  refused("the journal is a FIFO");
  ASSERT_EQ(::mkdir(journal.c_str(), 0700), 0);
  EXPECT_FALSE(open());
  ::rmdir(journal.c_str());
  ASSERT_EQ(::link(path("victim").c_str(), journal.c_str()), 0);
  refused("the journal has another name, too");
  std::ofstream(journal) << "";
  ASSERT_EQ(::chmod(journal.c_str(), 0666), 0);
  refused("anybody may write to the journal");
  ASSERT_EQ(::symlink("victim", part.c_str()), 0);
  refused("the part is a symlink");
  ASSERT_EQ(::mkfifo(part.c_str(), 0600), 0);
  refused("the part is a FIFO");
  std::string content;
  std::ifstream(path("victim")) >> content;
  EXPECT_EQ(content, "precious");
}

TEST_F(PartFileTest, APartThatOthersMayWriteToStartsAnew) {
  leave_part();
  ASSERT_EQ(::chmod(path(names_.part).c_str(), 0620), 0);
  EXPECT_FALSE(open()->journal().has_any());
}

TEST_F(PartFileTest, APartThatIsAnotherFileThanTheJournalsStartsAnew) {
  leave_part();
  ASSERT_EQ(::rename(path(names_.part).c_str(), path("kept").c_str()), 0);
  std::ofstream(path(names_.part)) << "something else";
  ASSERT_EQ(::chmod(path(names_.part).c_str(), 0600), 0);
  EXPECT_FALSE(open()->journal().has_any());
}

TEST_F(PartFileTest, AJournalWithoutAPartStartsAnew) {
  leave_part();
  ::unlink(path(names_.part).c_str());
  EXPECT_FALSE(open()->journal().has_any());
}

TEST_F(PartFileTest, AnyNameHasAPartOfItsOwn) {
  const std::string longest(255, 'n');
  auto one = open({.source = state_of(1)}, longest);
  auto other = open({.source = state_of(1)}, longest.substr(1));
  ASSERT_TRUE(one && other);
  one->journal().add(0, kMiB, {});
  one.reset();
  EXPECT_TRUE(open({.source = state_of(1)}, longest)->journal().holds(0, kMiB));
}

}  // namespace
}  // namespace rdcp::tree
