// Tests a large file's transfer from its opening to its last step.
#include "tree/plan/file_transfer.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

constexpr FilePieces::Limits kLimits{.extent_bytes = 64 << 10, .by_kernel_bytes = 1 << 20};
constexpr std::uint64_t kBlock = 16 << 10;
using LastStep = FileTransfer::LastStep;

struct FileTransferTest : testing::Test {
  FileTransferTest() {
    write_file(scratch / "file", std::string(kSize, 'x'));
    item.directory = std::make_shared<DirectoryTracker>(root);
    item.name = "file";
  }
  OpenedFile opened() {
    OpenedFile opened;
    opened.fd.reset(::open((scratch / "file").c_str(), O_RDONLY | O_CLOEXEC));
    opened.size = kSize;
    return opened;
  }
  FileTransferRef open(OpenedFile opened, bool compares = false,
                       const OpenAnswer& answer = {.usable = true}) {
    auto file = std::make_shared<FileTransfer>(item);
    file->set_opened(std::move(opened), compares);
    file->begin(answer, kBlock);
    return file;
  }
  static net::Frame data_of(const Piece& piece) {
    net::Frame frame;
    frame.offset = piece.extent.offset;
    frame.length = static_cast<std::uint32_t>(piece.extent.length);
    return frame;
  }
  static void settle(FileTransfer& file, const Piece& piece, bool failed = false) {
    const net::Frame frame = data_of(piece);
    PieceAnswer answer;
    answer.failed = failed;
    if (!failed) {
      answer.settled_bytes = piece.extent.length;
      answer.data = &frame;
    }
    file.settle_extent(answer);
  }

  static constexpr std::uint64_t kSize = 150'000;
  ScratchDirectory scratch;
  Root root;
  Item item;
  int worker = 0, other = 0;  // their addresses stand for workers
};

TEST_F(FileTransferTest, IsCommittedWhenAllItsExtentsAreSettled) {
  const auto file = open(opened());
  std::vector<Piece> pieces;
  while (const auto piece = file->take(&worker, kLimits)) pieces.push_back(*piece);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[2].extent, (io::Extent{128 << 10, kSize - (128 << 10)}));
  for (const Piece& piece : pieces) {
    EXPECT_EQ(file->last_step(), LastStep::none);
    settle(*file, piece);
  }
  EXPECT_EQ(file->last_step(), LastStep::commit);
  EXPECT_EQ(file->settled_bytes(), kSize);
  EXPECT_EQ(file->length(), kSize);
}

TEST_F(FileTransferTest, TheOrderOfAnswersIsNoPartOfTheDigest) {
  const auto one = open(opened()), another = open(opened());
  std::vector<Piece> pieces;
  while (const auto piece = one->take(&worker, kLimits)) pieces.push_back(*another->take(&worker, kLimits));
  for (const Piece& piece : pieces) settle(*one, piece);
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) settle(*another, *piece);
  EXPECT_EQ(one->digest(), another->digest());
  EXPECT_NE(one->digest(), io::FileDigest().value());
}

TEST_F(FileTransferTest, AFailureHandsNothingMoreOut) {
  const auto file = open(opened());
  const auto first = file->take(&worker, kLimits), second = file->take(&worker, kLimits);
  settle(*file, *first, true);
  EXPECT_FALSE(file->take(&worker, kLimits));
  EXPECT_EQ(file->last_step(), LastStep::none) << "one is still out";
  settle(*file, *second);
  EXPECT_EQ(file->last_step(), LastStep::abandon);
  EXPECT_FALSE(file->begins_anew());
}

TEST_F(FileTransferTest, WhatTheKernelCannotCopyComesAgainInChunks) {
  OpenedFile local = opened();
  local.by_kernel = true;
  const auto file = open(std::move(local));
  const auto whole = file->take(&worker, kLimits);
  EXPECT_TRUE(whole->by_kernel);
  EXPECT_EQ(whole->extent, (io::Extent{0, kSize}));
  EXPECT_FALSE(file->take(&worker, kLimits));
  file->return_extent(whole->extent);
  EXPECT_EQ(file->last_step(), LastStep::none);
  const auto chunk = file->take(&worker, kLimits);
  ASSERT_TRUE(chunk);
  EXPECT_FALSE(chunk->by_kernel);
  EXPECT_EQ(chunk->extent, (io::Extent{0, kLimits.extent_bytes}));
}

TEST_F(FileTransferTest, OfOneWorkerBelongsToTheFirstUntilThatLeaves) {
  const auto file = open(opened(), false, {.usable = true, .one_worker = true});
  EXPECT_TRUE(file->belongs_to(nullptr));
  EXPECT_TRUE(file->take(&worker, kLimits));
  EXPECT_TRUE(file->belongs_to(&worker));
  file->leave(&other);
  EXPECT_TRUE(file->belongs_to(&worker));
  file->leave(&worker);
  EXPECT_TRUE(file->belongs_to(nullptr));
}

TEST_F(FileTransferTest, AStreamIsReadOneChunkAtATimeToItsEnd) {
  const auto file = std::make_shared<FileTransfer>(item, true);
  file->set_opened({}, false);
  file->begin({.usable = true}, kBlock);
  const auto first = file->take(&worker, kLimits);
  EXPECT_TRUE(file->waits()) << "nobody may read past a read that is under way";
  file->stream_read(1000, false);
  EXPECT_FALSE(file->waits());
  const auto second = file->take(&worker, kLimits);
  EXPECT_EQ(second->extent.offset, 1000u);
  file->stream_read(7, true);
  EXPECT_FALSE(file->take(&worker, kLimits));
  settle(*file, *first);
  EXPECT_EQ(file->last_step(), LastStep::none);
  settle(*file, *second);
  EXPECT_EQ(file->last_step(), LastStep::commit);
  EXPECT_EQ(file->length(), 1007u);
}

TEST_F(FileTransferTest, AnEndThatCameEarlyStaysTheEarliest) {
  const auto file = open(opened());
  EXPECT_FALSE(file->ended_early());
  file->end_early(1000);
  file->end_early(2000);
  EXPECT_TRUE(file->ended_early());
  EXPECT_EQ(file->length(), 1000u);
}

TEST_F(FileTransferTest, OneThatIsReadAgainBeginsAnewAndCountsItsReadings) {
  const auto file = open(opened());
  file->read_again();
  EXPECT_TRUE(file->begins_anew());
  const auto again = file->anew();
  EXPECT_EQ(again->readings(), 2u);
  EXPECT_EQ(again->item().name, "file");
  EXPECT_EQ(again->settled_bytes(), 0u);
  EXPECT_FALSE(again->opened().fd) << "it is looked up anew";
}

TEST_F(FileTransferTest, AChangeIsToldOnce) {
  const auto file = open(opened());
  EXPECT_FALSE(file->change_was_told());
  EXPECT_TRUE(file->note_change());
  EXPECT_FALSE(file->note_change());
  EXPECT_TRUE(file->change_was_told());
}

TEST_F(FileTransferTest, ADifferenceAbandonsWhatIsComparedAndSendsItAnew) {
  const auto file = open(opened(), true, {.usable = true, .spans = Spans::probe});
  const auto span = file->take(&worker, kLimits);
  ASSERT_EQ(span->spans, Spans::probe);
  const ProbedPiece pieces[] = {{{0, kBlock}, io::Digest{}, PieceVerdict::present},
                                {{kBlock, kBlock}, io::Digest{}, PieceVerdict::missing}};
  PieceAnswer answer;
  answer.settled_bytes = kBlock;
  answer.pieces = pieces;
  EXPECT_FALSE(file->settle_span(span->spans, answer)) << "nothing is sent of what is compared";
  EXPECT_FALSE(file->take(&worker, kLimits));
  EXPECT_EQ(file->last_step(), LastStep::abandon);
  EXPECT_TRUE(file->begins_anew());
  EXPECT_EQ(file->kept_bytes(), kBlock);
  EXPECT_TRUE(file->anew()->was_compared()) << "once is enough";
}

TEST_F(FileTransferTest, WithoutAFileOfItsSizeItIsOpenedAgainWithoutAComparison) {
  const OpenAnswer none{.cannot_compare = true};
  const auto compared = std::make_shared<FileTransfer>(item);
  compared->set_opened(opened(), true);
  const auto sent = compared->reopened_for(none);
  ASSERT_NE(sent, nullptr);
  EXPECT_FALSE(sent->sends_holes());
  // The file is not compared now, and the target still refuses, because it cannot make holes.
  const auto filled = sent->reopened_for(none);
  ASSERT_NE(filled, nullptr);
  EXPECT_TRUE(filled->sends_holes());
  EXPECT_EQ(filled->reopened_for(none), nullptr) << "or it would be opened for ever";
  EXPECT_EQ(compared->reopened_for({}), nullptr) << "it was refused";
}

TEST_F(FileTransferTest, HolesOfWhatIsComparedAreAskedAboutToo) {
  const std::string path = scratch / "sparse";
  io::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(fd.get(), 1 << 20), 0);
  OpenedFile hole;
  hole.fd = std::move(fd);
  hole.size = 1 << 20;
  hole.sparse = true;
  const auto file = open(std::move(hole), true, {.usable = true, .spans = Spans::probe});
  const auto span = file->take(&worker, kLimits);
  ASSERT_TRUE(span) << "where SRC has a hole, the target may have data";
  EXPECT_EQ(span->extent.offset, 0u);
}

}  // namespace
}  // namespace rdcp::tree
