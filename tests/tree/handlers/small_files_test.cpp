#include "tree/handlers/small_files.h"

#include <sys/stat.h>

#include <filesystem>

#include "tests/tree/handlers/handler_fixture.h"
#include "tree/handlers/verified_archive.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using net::AckStatus;

// The same archives with and without --verify: `unpack` takes the one way or the other.
class SmallFilesTest : public HandlerTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    job.settings.verify = GetParam();
    begin();
    files.emplace(*context);
    if (GetParam()) verified.emplace(*context, *files);
  }
  AckStatus unpack(const std::vector<std::byte>& archive) {
    return verified ? run(verified->unpack(archive)) : files->unpack(archive);
  }

  std::optional<SmallFiles> files;
  std::optional<VerifiedArchive> verified;
};

TEST_P(SmallFilesTest, EveryFileIsPutWithItsContentAndTime) {
  EXPECT_EQ(unpack(archive_of({{file_entry("a"), "one"}, {file_entry("d/b"), "two"}})), AckStatus::done);
  EXPECT_EQ(content_of(scratch / "a"), "one");
  EXPECT_EQ(content_of(scratch / "d/b"), "two");
  EXPECT_EQ(status_of(scratch / "a").st_mtim.tv_sec, 1'600'000'000);
  EXPECT_EQ(session->tally.bytes, 6u);
}

TEST_P(SmallFilesTest, OneThatCannotBePutIsReportedAndTheOthersArePut) {
  fs::create_directories(scratch / "taken/by/others");
  EXPECT_EQ(unpack(archive_of({{file_entry("taken"), "one"}, {file_entry("z"), "two"}})), AckStatus::done);
  EXPECT_EQ(content_of(scratch / "z"), "two");
  EXPECT_FALSE(session->refusing());
  ASSERT_EQ(heard.problems().size(), 1u) << heard.text();
  EXPECT_NE(heard.text().find("DST/taken"), std::string::npos) << heard.text();
  EXPECT_EQ(session->tally.bytes, 3u);
}

// A name that holds something older must not be linked to in place of the file that could not be put.
TEST_P(SmallFilesTest, NothingIsLinkedToANameThatWasNotPut) {
  fs::create_directories(scratch / "first/by/others");
  EXPECT_EQ(unpack(archive_of({{file_entry("first"), "one"}})), AckStatus::done);
  heard.clear();
  fs::remove_all(scratch / "first");
  write_file(scratch / "first", "old");
  EXPECT_EQ(unpack(archive_of({{link_entry("second", "first"), ""}})), AckStatus::done);
  EXPECT_FALSE(fs::exists(scratch / "second"));
  EXPECT_NE(heard.text().find("its other name, could not be written"), std::string::npos) << heard.text();
}

TEST_P(SmallFilesTest, ANameThatWasPutAfterAllIsLinkedTo) {
  fs::create_directories(scratch / "first/by/others");
  unpack(archive_of({{file_entry("first"), "one"}}));
  fs::remove_all(scratch / "first");
  EXPECT_EQ(unpack(archive_of({{file_entry("first"), "one"}})), AckStatus::done);
  EXPECT_EQ(unpack(archive_of({{link_entry("second", "first"), ""}})), AckStatus::done);
  EXPECT_EQ(content_of(scratch / "second"), "one");
}

// In a chain a host between the two can pass on a link before the file that it belongs to.
TEST_P(SmallFilesTest, AFileThatComesAfterItsLinkIsNoSuccess) {
  session->guards.keep_ledger();
  write_file(scratch / "first", "old");
  EXPECT_EQ(unpack(archive_of({{link_entry("second", "first"), ""}})), AckStatus::done);
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(unpack(archive_of({{file_entry("other"), "one"}})), AckStatus::done);
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(unpack(archive_of({{file_entry("first"), "one"}})), AckStatus::done);
  EXPECT_EQ(content_of(scratch / "second"), "old");
  EXPECT_NE(heard.text().find("first: another name was linked to it before it came"), std::string::npos)
      << heard.text();
}

// The file "OWN" is why the target is taken for one that does not tell upper from lower case.
TEST_P(SmallFilesTest, OfTwoSpellingsOneIsPutAndTheOtherTold) {
  write_file(scratch / "OWN", "");
  session->guards.spellings.begin(session->place.root.get(), "own");
  EXPECT_EQ(unpack(archive_of({{file_entry("file"), "one"}, {file_entry("FILE"), "two"}})), AckStatus::done);
  EXPECT_EQ(unpack(archive_of({{link_entry("File", "file"), ""}})), AckStatus::done);
  EXPECT_EQ(names_in(scratch.path()), (std::vector<std::string>{"OWN", "file"}));
  EXPECT_EQ(content_of(scratch / "file"), "one");
  EXPECT_EQ(heard.problems().size(), 2u) << heard.text();
  EXPECT_NE(heard.text().find("DST/FILE: another name of SRC differs"), std::string::npos) << heard.text();
}

TEST_P(SmallFilesTest, WhatIsNoArchiveEndsTheRun) {
  EXPECT_EQ(unpack(std::vector<std::byte>(512, std::byte{1})), AckStatus::refused);
  EXPECT_TRUE(session->refusing());
  EXPECT_EQ(heard.problems().size(), 1u) << heard.text();
}

TEST_P(SmallFilesTest, AnEntryThatTheJobDidNotAgreeOnEndsTheRun) {
  session->guards.terms &= ~static_cast<Terms>(kKinds);
  Entry fifo = file_entry("fifo");
  fifo.type = EntryType::fifo;
  EXPECT_EQ(unpack(archive_of({{fifo, ""}})), AckStatus::refused);
  EXPECT_TRUE(session->refusing());
  EXPECT_TRUE(names_in(scratch.path()).empty());
}

TEST_P(SmallFilesTest, ANameOutsideTheLandingsEndsTheRun) {
  session->guards.admitted = std::move(AdmittedNames::create({"here"})).value();
  EXPECT_EQ(unpack(archive_of({{file_entry("there"), "x"}})), AckStatus::refused);
  EXPECT_TRUE(session->refusing());
  EXPECT_TRUE(names_in(scratch.path()).empty());
}

INSTANTIATE_TEST_SUITE_P(, SmallFilesTest, testing::Bool(),
                         [](const auto& verify) { return verify.param ? "Verified" : "Plain"; });

}  // namespace
}  // namespace rdcp::tree
