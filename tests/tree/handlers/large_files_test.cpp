// A large file's life at the target, step by step: opened, filled, committed.
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/tree/handlers/handler_fixture.h"
#include "tree/handlers/file_committer.h"
#include "tree/handlers/file_opener.h"
#include "tree/handlers/file_writer.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using net::AckStatus;
using net::FrameKind;

constexpr std::size_t kPiece = 128 << 10;

class LargeFilesTest : public HandlerTest {
 protected:
  void start() {
    begin();
    read_back.emplace(*context);
    writer.emplace(*context, *read_back);
    if (job.settings.sync.enabled) {
      comparer.emplace(session->place.root.get(), "DST", session->guards.removals,
                       context->settings().policy(), session->metadata().names);
    }
    opener.emplace(*context, *writer, comparer ? &*comparer : nullptr);
    committer.emplace(*context, *writer, comparer ? &*comparer : nullptr);
  }
  // An old file as a copy would have left it, which is opened to be compared.
  void open_equal(bool has_other_name) {
    job.settings.sync.enabled = true;
    job.settings.sync.checksum = true;
    write_file(scratch / "file", std::string(kPiece, 'o'));
    const timespec times[2] = {{1'600'000'000, 5}, {1'600'000'000, 5}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (scratch / "file").c_str(), times, 0), 0);
    ASSERT_EQ(::chmod((scratch / "file").c_str(), 0644), 0);
    if (has_other_name) fs::create_hard_link(scratch / "file", scratch / "other");
    start();
    ASSERT_EQ(open(kPiece, net::kFlagCompare), AckStatus::has_basis);
  }
  AckStatus commit_equal(std::uint32_t mode) {
    Entry entry = file_entry("file");
    entry.mode = mode;
    return committer->commit(frame_for(FrameKind::commit, kFileId, kPiece), archive_of({{entry, ""}}));
  }
  mode_t mode() const { return status_of(scratch / "file").st_mode & 07777; }
  AckStatus open(std::uint64_t size, std::uint8_t flags = 0, std::uint64_t id = kFileId) {
    net::Frame frame = frame_for(FrameKind::open, id, size);
    frame.flags = flags;
    return opener->open(frame, header_for("file"));
  }
  AckStatus write(std::uint64_t offset, std::string_view bytes) {
    const net::Frame frame = data_in_slot(kFileId, offset, bytes);
    digest.add(offset, frame.length, frame.digest);
    return run(writer->write(frame, slot()));
  }
  AckStatus commit(std::uint64_t size, const std::string& path = "file") {
    net::Frame frame = frame_for(FrameKind::commit, kFileId, size);
    frame.extra = digest.value();
    return committer->commit(frame, header_for(path));
  }

  std::optional<FileReadBack> read_back;
  std::optional<FileWriter> writer;
  std::optional<Comparer> comparer;
  std::optional<FileOpener> opener;
  std::optional<FileCommitter> committer;
  io::FileDigest digest;
};

TEST_F(LargeFilesTest, HasItsNameOnlyAfterTheCommit) {
  start();
  const std::string front(kPiece, 'a'), back(1000, 'b');
  EXPECT_EQ(open(kPiece + 1000), AckStatus::in_turn);
  EXPECT_EQ(write(kPiece, back), AckStatus::done);
  EXPECT_EQ(write(0, front), AckStatus::done);
  EXPECT_FALSE(fs::exists(scratch / "file"));
  EXPECT_EQ(commit(kPiece + 1000), AckStatus::done);
  EXPECT_EQ(content_of(scratch / "file"), front + back);
  EXPECT_EQ(status_of(scratch / "file").st_mtim.tv_sec, 1'600'000'000);
  EXPECT_EQ(session->tally.bytes, kPiece + 1000);
  EXPECT_EQ(heard.text(), "");
}

TEST_F(LargeFilesTest, IsReadBackWithVerify) {
  job.settings.verify = true;
  start();
  const std::string bytes(kPiece, 'v');
  open(kPiece);
  EXPECT_EQ(write(0, bytes), AckStatus::done);
  EXPECT_EQ(commit(kPiece), AckStatus::done);
  EXPECT_EQ(content_of(scratch / "file"), bytes);
}

// A host between the two may keep back the commit alone.
TEST_F(LargeFilesTest, ACommitThatComesAfterALinkToItsNameIsNoSuccess) {
  write_file(scratch / "file", "old");
  start();
  session->guards.keep_ledger();
  open(kPiece);
  write(0, std::string(kPiece, 'x'));
  EXPECT_TRUE(context->may_link(link_entry("second", "file")));
  EXPECT_EQ(commit(kPiece), AckStatus::refused);
  EXPECT_NE(heard.text().find("another name was linked to it"), std::string::npos) << heard.text();
}

// What the commit says of the whole file decides, whatever each chunk said.
TEST_F(LargeFilesTest, AWrongDigestOfTheWholeFileEndsTheRunAndLeavesTheOldFile) {
  write_file(scratch / "file", "old");
  start();
  open(kPiece);
  write(0, std::string(kPiece, 'x'));
  digest.add(kPiece, 1, {});
  EXPECT_EQ(commit(kPiece), AckStatus::refused);
  EXPECT_TRUE(session->refusing());
  EXPECT_EQ(heard.problems().at(0).kind, io::ErrorKind::digest);
  EXPECT_EQ(content_of(scratch / "file"), "old");
}

TEST_F(LargeFilesTest, AChunkThatComesAgainIsCountedOnce) {
  start();
  const std::string bytes(kPiece, 'x');
  open(kPiece);
  EXPECT_EQ(write(0, bytes), AckStatus::done);
  writer->take_back({.frame = data_in_slot(kFileId, 0, bytes), .status = AckStatus::done, .verdicts = {}});
  EXPECT_EQ(session->tally.bytes, 0u);
  digest = {};
  EXPECT_EQ(write(0, bytes), AckStatus::done);
  EXPECT_EQ(commit(kPiece), AckStatus::done);
  EXPECT_EQ(session->tally.bytes, kPiece);
}

TEST_F(LargeFilesTest, AChunkThatWasNotCountedIsNotTakenBack) {
  start();
  const std::string bytes(kPiece, 'x');
  open(kPiece);
  write(0, bytes);
  writer->take_back(
      {.frame = data_in_slot(kFileId, 0, bytes), .status = AckStatus::bad_digest, .verdicts = {}});
  EXPECT_EQ(commit(kPiece), AckStatus::done);
}

TEST_F(LargeFilesTest, BytesForAFileThatIsNotOpenEndTheRun) {
  start();
  EXPECT_EQ(write(0, "x"), AckStatus::refused);
  expect_protocol_error("bytes for a file that is not open");
}

TEST_F(LargeFilesTest, BytesBeyondTheEndEndTheRun) {
  start();
  open(kPiece);
  EXPECT_EQ(write(kPiece, "x"), AckStatus::refused);
  expect_protocol_error("an extent outside its file");
}

TEST_F(LargeFilesTest, BytesAtAnOffsetThatWrapsAroundEndTheRun) {
  start();
  open(kPiece);
  EXPECT_EQ(write(~std::uint64_t{0} & ~std::uint64_t{4095}, "xx"), AckStatus::refused);
  expect_protocol_error("an extent outside its file");
}

TEST_F(LargeFilesTest, AnUnalignedExtentEndsTheRun) {
  start();
  open(kPiece);
  EXPECT_EQ(write(1, "x"), AckStatus::refused);
  expect_protocol_error("an extent outside its file");
}

TEST_F(LargeFilesTest, AFileOpenedTwiceEndsTheRun) {
  start();
  open(kPiece);
  EXPECT_EQ(open(kPiece), AckStatus::refused);
  expect_protocol_error("a file opened twice");
}

TEST_F(LargeFilesTest, MoreOpenFilesThanAnySourceHasEndTheRun) {
  start();
  for (std::uint64_t id = 1; id <= TargetFiles::kOpenMax; ++id) {
    ASSERT_EQ(open(10, 0, id), AckStatus::in_turn) << id;
  }
  EXPECT_EQ(open(10, 0, 1000), AckStatus::refused);
  expect_protocol_error("too many files open");
}

TEST_F(LargeFilesTest, AnImpossibleSizeEndsTheRun) {
  start();
  EXPECT_EQ(open(kUnknownSize + 1), AckStatus::refused);
  expect_protocol_error("a file of impossible size");
}

TEST_F(LargeFilesTest, ACommitUnderAnotherNameEndsTheRun) {
  start();
  open(kPiece);
  write(0, std::string(kPiece, 'x'));
  EXPECT_EQ(commit(kPiece, "other"), AckStatus::refused);
  expect_protocol_error("a commit that does not fit its file");
  EXPECT_TRUE(names_in(scratch.path()).empty());
}

// A hole would leave what the old file has there.
TEST_F(LargeFilesTest, ASparseFileIsNotWrittenIntoAnOldOne) {
  write_file(scratch / "file", "old");
  job.settings.inplace = true;
  start();
  EXPECT_EQ(open(kPiece, net::kFlagSparse), AckStatus::unsupported);
  EXPECT_EQ(content_of(scratch / "file"), "old");
}

TEST_F(LargeFilesTest, InPlaceTheOldInodeIsWritten) {
  write_file(scratch / "file", std::string(kPiece, 'o'));
  const ino_t before = status_of(scratch / "file").st_ino;
  job.settings.inplace = true;
  start();
  EXPECT_EQ(open(kPiece), AckStatus::in_turn);
  write(0, std::string(kPiece, 'n'));
  EXPECT_EQ(commit(kPiece), AckStatus::done);
  EXPECT_EQ(status_of(scratch / "file").st_ino, before);
  EXPECT_EQ(content_of(scratch / "file"), std::string(kPiece, 'n'));
}

TEST_F(LargeFilesTest, AnEqualFileGetsTheMetadataOfItsCommit) {
  open_equal(false);
  EXPECT_EQ(commit_equal(0600), AckStatus::done);
  EXPECT_EQ(mode(), 0600u);
  EXPECT_EQ(heard.text(), "");
}

// They need not be those that it was opened with.
TEST_F(LargeFilesTest, AnEqualFileWithOtherNamesKeepsItsMetadata) {
  open_equal(true);
  EXPECT_EQ(commit_equal(04777), AckStatus::refused);
  EXPECT_EQ(mode(), 0644u);
  EXPECT_NE(heard.text().find("it has other names by now"), std::string::npos) << heard.text();
  EXPECT_FALSE(session->refusing());
}

TEST_F(LargeFilesTest, AnEqualFileThatGotAnotherNameMeanwhileKeepsItsMetadata) {
  open_equal(false);
  fs::create_hard_link(scratch / "file", scratch / "other");
  EXPECT_EQ(commit_equal(04777), AckStatus::refused);
  EXPECT_EQ(mode(), 0644u);
}

TEST_F(LargeFilesTest, AnEqualFileWithOtherNamesAndTheSameMetadataIsEqual) {
  open_equal(true);
  EXPECT_EQ(commit_equal(0644), AckStatus::done);
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(session->tally.bytes, kPiece);
}

// Its descriptor would be closed while a slot of another stream writes to that number.
TEST_F(LargeFilesTest, ACommitOfAFileThatASlotStillUsesEndsTheRun) {
  start();
  open(kPiece);
  write(0, std::string(kPiece, 'x'));
  const TargetFileRef used = session->files.open.find(kFileId);
  EXPECT_EQ(commit(kPiece), AckStatus::refused);
  expect_protocol_error("a commit of a file that is still written or compared");
  EXPECT_TRUE(names_in(scratch.path()).empty());
}

// The ring may still know the file that had the id before.
TEST_F(LargeFilesTest, AnIdThatIsUsedAgainIsThatOfAnotherFile) {
  start();
  open(kPiece);
  write(0, std::string(kPiece, 'a'));
  EXPECT_EQ(commit(kPiece), AckStatus::done);
  digest = {};
  open(kPiece);
  write(0, std::string(kPiece, 'b'));
  EXPECT_EQ(content_of(scratch / "file"), std::string(kPiece, 'a'));
  EXPECT_EQ(commit(kPiece), AckStatus::done);
  EXPECT_EQ(content_of(scratch / "file"), std::string(kPiece, 'b'));
}

TEST_F(LargeFilesTest, AFileThatFailedIsRefusedAndTheRunGoesOn) {
  start();
  open(kPiece);
  const TargetFileRef file = session->files.open.find(kFileId);
  ASSERT_TRUE(writer->failed_to_write(*file, io::IoResult{.bytes = 0, .error = EIO}, 10));
  EXPECT_EQ(write(0, "x"), AckStatus::refused);
  digest = {};  // none of it was taken
  EXPECT_EQ(commit(0), AckStatus::refused);
  EXPECT_FALSE(session->refusing());
  EXPECT_EQ(heard.problems().size(), 1u) << heard.text();
}

TEST_F(LargeFilesTest, AFullDiskEndsTheRun) {
  start();
  open(kPiece);
  const TargetFileRef file = session->files.open.find(kFileId);
  ASSERT_TRUE(writer->failed_to_write(*file, io::IoResult{.bytes = 0, .error = ENOSPC}, 10));
  EXPECT_TRUE(session->refusing());
}

}  // namespace
}  // namespace rdcp::tree
