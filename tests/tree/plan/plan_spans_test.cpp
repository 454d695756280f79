// What a plan hands out of a file of which the target has something.
#include <filesystem>

#include "tests/tree/copy/copy_fixture.h"
#include "tree/plan/plan.h"

namespace rdcp::tree {
namespace {

constexpr std::uint64_t kSlot = 64 << 10;
constexpr std::uint64_t kBlock = 16 << 10;
constexpr std::uint64_t kSpan = 8 * kBlock;  // of a small file
constexpr std::uint64_t kSize = 3 * kSpan + 5000;

struct PlanSpans : testing::Test {
  PlanSpans() {
    root.single = true;
    write_file(scratch / "file", std::string(kSize, 'x'));
    Item item;
    item.directory = std::make_shared<DirectoryTracker>(root);
    plan.add(std::make_shared<FileTransfer>(std::move(item)));
    plan.walk_finished();
  }

  void open(Spans spans, bool compares = false) {
    Work work;
    ASSERT_EQ(plan.take(work, this), Plan::Next::work);
    ASSERT_EQ(work.kind, Work::Kind::open);
    file = work.file;  // another one, where it is opened again
    OpenedFile opened;
    opened.fd.reset(::open((scratch / "file").c_str(), O_RDONLY | O_CLOEXEC));
    opened.size = kSize;
    file->set_opened(std::move(opened), compares);
    plan.opened(file, {.usable = true, .spans = spans});
  }
  Work take(Work::Kind kind) {
    Work work;
    EXPECT_EQ(plan.take(work, this), Plan::Next::work);
    EXPECT_EQ(work.kind, kind);
    return work;
  }
  // Answered with a letter for each block: p present, m moved, else missing.
  bool settle(Work& work, const std::string& answers, bool digests = true) {
    std::vector<ProbedPiece> pieces;
    std::uint64_t at = 0;
    for (const char answer : answers) {
      ProbedPiece piece;
      piece.extent = {work.extent.offset + at, std::min(file->block_bytes(), work.extent.length - at)};
      at += piece.extent.length;
      if (digests) piece.digest = io::Digest{};
      if (answer == 'p') piece.verdict = PieceVerdict::present;
      if (answer == 'm') piece.verdict = PieceVerdict::moved;
      pieces.push_back(piece);
    }
    return plan.settle_span(work, {.pieces = pieces});
  }
  bool settle_data(Work& work) {
    net::Frame frame;
    frame.offset = work.extent.offset;
    frame.length = static_cast<std::uint32_t>(work.extent.length);
    return plan.settle_extent(work, {.data = &frame});
  }
  static io::Extent blocks(std::uint64_t first, std::uint64_t count) {
    return {first * kBlock, count * kBlock};
  }

  ScratchDirectory scratch;
  Root root;
  FileTransferRef file;
  Plan plan{kSlot, 1 << 30};
};

TEST_F(PlanSpans, WhatIsMissingIsHandedOutInRunsBeforeTheNextSpan) {
  open(Spans::probe);
  Work first = take(Work::Kind::span);
  EXPECT_EQ(first.extent, (io::Extent{0, kSpan}));
  Work second = take(Work::Kind::span);
  EXPECT_EQ(second.extent, (io::Extent{kSpan, kSpan}));
  EXPECT_FALSE(settle(first, "p..pp..."));
  Work a = take(Work::Kind::extent);
  EXPECT_EQ(a.extent, blocks(1, 2));
  Work b = take(Work::Kind::extent);
  EXPECT_EQ(b.extent, blocks(5, 3));
  EXPECT_FALSE(settle(second, "pppppppp"));
  Work third = take(Work::Kind::span);
  Work last = take(Work::Kind::span);
  EXPECT_EQ(last.extent, (io::Extent{3 * kSpan, 5000}));
  EXPECT_FALSE(settle(third, "pppppppp"));
  EXPECT_FALSE(settle_data(a));
  EXPECT_FALSE(settle_data(b));
  Work none;
  EXPECT_EQ(plan.take(none, this), Plan::Next::wait);
  EXPECT_TRUE(settle(last, "p"));  // the last of all becomes the commit
  EXPECT_EQ(last.kind, Work::Kind::commit);
  EXPECT_EQ(file->kept_bytes(), kSize - 5 * kBlock);
}

TEST_F(PlanSpans, MoreThanAChunkIsHandedOutInChunks) {
  open(Spans::probe);
  Work span = take(Work::Kind::span);
  settle(span, "........");
  EXPECT_EQ(take(Work::Kind::extent).extent, (io::Extent{0, kSlot}));
  EXPECT_EQ(take(Work::Kind::extent).extent, (io::Extent{kSlot, kSlot}));
  EXPECT_EQ(take(Work::Kind::span).extent.offset, kSpan);
}

// What was under way on a lost stream comes again as it was, and the file waits for it.
TEST_F(PlanSpans, RetransmitQueue) {
  open(Spans::probe);
  Work first = take(Work::Kind::span);
  first.probe.resize(10);
  plan.lose_stream(1, this);
  plan.give_back(std::move(first), 1, this);
  Work told = take(Work::Kind::lost);
  Work second = take(Work::Kind::span);
  EXPECT_EQ(second.extent.offset, kSpan);
  plan.settle_lost(told.stream);
  Work again = take(Work::Kind::span);
  EXPECT_TRUE(again.again);
  EXPECT_EQ(again.extent, (io::Extent{0, kSpan}));
  EXPECT_EQ(again.probe.size(), 10u);
  EXPECT_FALSE(settle(second, "pppppppp"));
  Work third = take(Work::Kind::span);
  Work last = take(Work::Kind::span);
  EXPECT_FALSE(settle(third, "pppppppp"));
  EXPECT_FALSE(settle(last, "p"));
  Work none;
  EXPECT_EQ(plan.take(none, this), Plan::Next::wait);
  EXPECT_TRUE(settle(again, "pppppppp"));
  EXPECT_EQ(again.kind, Work::Kind::commit);
}

// What an earlier run has written counts on neither side.
TEST_F(PlanSpans, AskedForWithoutDigests) {
  open(Spans::ask);
  Work all = take(Work::Kind::span);
  EXPECT_EQ(all.extent, (io::Extent{0, kSize}));
  EXPECT_FALSE(settle(all, std::string(24, 'p') + ".", false));
  EXPECT_EQ(file->digest(), io::FileDigest().value());
  Work rest = take(Work::Kind::extent);
  EXPECT_EQ(rest.extent, (io::Extent{3 * kSpan, 5000}));
  EXPECT_EQ(plan.take(all, this), Plan::Next::wait);
  EXPECT_TRUE(settle_data(rest));
  EXPECT_EQ(rest.kind, Work::Kind::commit);
}

TEST_F(PlanSpans, AnotherFileIsAskedForItsFirstSpanAlone) {
  open(Spans::like);
  Work first = take(Work::Kind::span);
  Work none;
  EXPECT_EQ(plan.take(none, this), Plan::Next::wait);
  settle(first, "........");
  EXPECT_EQ(take(Work::Kind::extent).extent.offset, 0u);
  EXPECT_EQ(take(Work::Kind::extent).extent.offset, kSlot);
  EXPECT_EQ(take(Work::Kind::extent).extent.offset, 2 * kSlot);  // no span any more
}

// What may have moved is cut by content, when no block is under comparison any more.
TEST_F(PlanSpans, MovedBlocksAreCutByContent) {
  open(Spans::probe);
  Work first = take(Work::Kind::span);
  Work second = take(Work::Kind::span);
  EXPECT_FALSE(settle(second, "mmmmmmmm"));
  Work none;
  EXPECT_EQ(plan.take(none, this), Plan::Next::wait);
  EXPECT_FALSE(settle(first, "p.pppppp"));
  EXPECT_EQ(take(Work::Kind::extent).extent, blocks(1, 1));
  Work chunks = take(Work::Kind::span);
  EXPECT_EQ(chunks.spans, Spans::chunks);
  EXPECT_EQ(chunks.extent, (io::Extent{kSpan, kSize - kSpan}));
  EXPECT_EQ(plan.take(none, this), Plan::Next::wait);  // until it is known where it ends
  plan.chunks_read(*file, 10'001);
  Work next = take(Work::Kind::span);
  EXPECT_EQ(next.extent.offset, kSpan + 10'001);
  // A chunk that is missing is sent with the pages that it begins and ends in.
  chunks.extent.length = 10'001;
  const ProbedPiece pieces[] = {{{kSpan, 5000}, io::Digest{}, PieceVerdict::present},
                                {{kSpan + 5000, 5001}, io::Digest{}, PieceVerdict::missing}};
  EXPECT_FALSE(plan.settle_span(chunks, {.pieces = pieces}));
  EXPECT_EQ(take(Work::Kind::extent).extent, (io::Extent{kSpan + 4096, 8192}));
  EXPECT_EQ(file->surplus(), 8192u - 5001);
}

// One that differs is no longer asked about, and is sent as if it had never been compared.
TEST_F(PlanSpans, ADifferenceEndsAComparison) {
  open(Spans::probe, true);
  Work first = take(Work::Kind::span);
  Work second = take(Work::Kind::span);
  EXPECT_FALSE(settle(second, "p.pp.ppp"));
  Work none;
  EXPECT_EQ(plan.take(none, this), Plan::Next::wait);  // no further span, but that before is still out
  EXPECT_TRUE(settle(first, "pppppppp"));
  EXPECT_EQ(first.kind, Work::Kind::abandon);
  plan.settle_file(file);
  open(Spans::none);
  EXPECT_FALSE(file->compares() || file->begins_anew());
  EXPECT_TRUE(file->was_compared());
  EXPECT_EQ(file->kept_bytes(), 0u);
}

TEST_F(PlanSpans, WhatIsEqualIsCommittedAfterAComparison) {
  open(Spans::probe, true);
  Work spans[4];
  for (Work& span : spans) span = take(Work::Kind::span);
  EXPECT_FALSE(settle(spans[3], "p"));
  EXPECT_FALSE(settle(spans[1], "pppppppp"));
  EXPECT_FALSE(settle(spans[2], "pppppppp"));
  Work none;
  EXPECT_EQ(plan.take(none, this), Plan::Next::wait);
  EXPECT_TRUE(settle(spans[0], "pppppppp"));
  EXPECT_EQ(spans[0].kind, Work::Kind::commit);
}

}  // namespace
}  // namespace rdcp::tree
