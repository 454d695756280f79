// Tests what a plan hands out of a file of which the target has some bytes.
#include <filesystem>

#include "tests/tree/copy/copy_fixture.h"
#include "tree/plan/plan.h"

namespace rdcp::tree {
namespace {

constexpr std::uint64_t kSlot = 64 << 10;
constexpr std::uint64_t kProbedBlock = 16 << 10;
constexpr std::uint64_t kSpan = 8 * kProbedBlock;  // of a small file
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
    file = take<OpenTask>().file;  // another one, where it is opened again
    OpenedFile opened;
    opened.fd.reset(::open((scratch / "file").c_str(), O_RDONLY | O_CLOEXEC));
    opened.size = kSize;
    file->set_opened(std::move(opened), compares);
    plan.settle_open(file, {.usable = true, .spans = spans});
  }
  template <class T>
  T take() {
    Work work;
    EXPECT_EQ(plan.take(work, this), Plan::Next::work);
    EXPECT_TRUE(std::holds_alternative<T>(work.task));
    was_again = work.again;
    return std::get<T>(std::move(work.task));
  }
  bool waits() {
    Work none;
    return plan.take(none, this) == Plan::Next::wait;
  }
  // Answered with a letter for each block: p present, m moved, else missing.
  std::optional<Task> settle(const io::Extent& span, Spans asked, const std::string& answers) {
    std::vector<ProbedPiece> pieces;
    std::uint64_t at = 0;
    for (const char answer : answers) {
      ProbedPiece piece;
      piece.extent = {span.offset + at, std::min(file->block_bytes(), span.length - at)};
      at += piece.extent.length;
      if (asked != Spans::ask) piece.digest = io::Digest{};
      if (answer == 'p') piece.verdict = PieceVerdict::present;
      if (answer == 'm') piece.verdict = PieceVerdict::moved;
      pieces.push_back(piece);
    }
    return plan.settle_span(file, asked, {.pieces = pieces});
  }
  std::optional<Task> settle(const ProbeTask& task, const std::string& answers) {
    return settle(task.extent, task.asked, answers);
  }
  std::optional<Task> settle(const DataTask& task) {
    net::Frame frame;
    frame.offset = task.extent.offset;
    frame.length = static_cast<std::uint32_t>(task.extent.length);
    return plan.settle_extent(file, {.data = &frame});
  }
  static bool is_commit(const std::optional<Task>& task) {
    return task && std::holds_alternative<CommitTask>(*task);
  }
  static io::Extent blocks(std::uint64_t first, std::uint64_t count) {
    return {first * kProbedBlock, count * kProbedBlock};
  }

  ScratchDirectory scratch;
  Root root;
  FileTransferRef file;
  Plan plan{{.extent_bytes = kSlot, .by_kernel_bytes = 1 << 30}};
  bool was_again = false;  // of the last task
};

TEST_F(PlanSpans, WhatIsMissingIsHandedOutInRunsBeforeTheNextSpan) {
  open(Spans::probe);
  ProbeTask first = take<ProbeTask>();
  EXPECT_EQ(first.extent, (io::Extent{0, kSpan}));
  const ProbeTask second = take<ProbeTask>();
  EXPECT_EQ(second.extent, (io::Extent{kSpan, kSpan}));
  EXPECT_FALSE(settle(first, "p..pp..."));
  const DataTask a = take<DataTask>();
  EXPECT_EQ(a.extent, blocks(1, 2));
  const DataTask b = take<DataTask>();
  EXPECT_EQ(b.extent, blocks(5, 3));
  EXPECT_FALSE(settle(second, "pppppppp"));
  const ProbeTask third = take<ProbeTask>();
  const ProbeTask last = take<ProbeTask>();
  EXPECT_EQ(last.extent, (io::Extent{3 * kSpan, 5000}));
  EXPECT_FALSE(settle(third, "pppppppp"));
  EXPECT_FALSE(settle(a));
  EXPECT_FALSE(settle(b));
  EXPECT_TRUE(waits());
  EXPECT_TRUE(is_commit(settle(last, "p")));  // the last of all becomes the commit
  EXPECT_EQ(file->kept_bytes(), kSize - 5 * kProbedBlock);
}

TEST_F(PlanSpans, MoreThanAChunkIsHandedOutInChunks) {
  open(Spans::probe);
  const ProbeTask span = take<ProbeTask>();
  settle(span, "........");
  EXPECT_EQ(take<DataTask>().extent, (io::Extent{0, kSlot}));
  EXPECT_EQ(take<DataTask>().extent, (io::Extent{kSlot, kSlot}));
  EXPECT_EQ(take<ProbeTask>().extent.offset, kSpan);
}

// A span in flight on a lost stream comes again unchanged, and the file waits for it.
TEST_F(PlanSpans, AProbeOfALostStreamComesAgain) {
  open(Spans::probe);
  ProbeTask first = take<ProbeTask>();
  first.sent.resize(10);
  plan.lose_stream(1, this);
  plan.give_back(std::move(first), 1, this);
  const LostTask told = take<LostTask>();
  EXPECT_FALSE(was_again);
  const ProbeTask second = take<ProbeTask>();
  EXPECT_EQ(second.extent.offset, kSpan);
  plan.settle_lost(told.stream);
  const ProbeTask again = take<ProbeTask>();
  EXPECT_TRUE(was_again);
  EXPECT_EQ(again.extent, (io::Extent{0, kSpan}));
  EXPECT_EQ(again.sent.size(), 10u);
  EXPECT_FALSE(settle(second, "pppppppp"));
  const ProbeTask third = take<ProbeTask>();
  const ProbeTask last = take<ProbeTask>();
  EXPECT_FALSE(settle(third, "pppppppp"));
  EXPECT_FALSE(settle(last, "p"));
  EXPECT_TRUE(waits());
  EXPECT_TRUE(is_commit(settle(again, "pppppppp")));
}

// Bytes that an earlier run has written count on neither side.
TEST_F(PlanSpans, AskedForWithoutDigests) {
  open(Spans::ask);
  const AskTask all = take<AskTask>();
  EXPECT_EQ(all.extent, (io::Extent{0, kSize}));
  EXPECT_FALSE(settle(all.extent, Spans::ask, std::string(24, 'p') + "."));
  EXPECT_EQ(file->digest(), io::FileDigest().value());
  const DataTask rest = take<DataTask>();
  EXPECT_EQ(rest.extent, (io::Extent{3 * kSpan, 5000}));
  EXPECT_TRUE(waits());
  EXPECT_TRUE(is_commit(settle(rest)));
}

TEST_F(PlanSpans, AnotherFileIsAskedForItsFirstSpanAlone) {
  open(Spans::like);
  ProbeTask first = take<ProbeTask>();
  EXPECT_TRUE(waits());
  settle(first, "........");
  EXPECT_EQ(take<DataTask>().extent.offset, 0u);
  EXPECT_EQ(take<DataTask>().extent.offset, kSlot);
  EXPECT_EQ(take<DataTask>().extent.offset, 2 * kSlot);  // no span any more
}

// Blocks that may have moved are cut by content once no block is being compared any more.
TEST_F(PlanSpans, MovedBlocksAreCutByContent) {
  open(Spans::probe);
  ProbeTask first = take<ProbeTask>();
  const ProbeTask second = take<ProbeTask>();
  EXPECT_FALSE(settle(second, "mmmmmmmm"));
  EXPECT_TRUE(waits());
  EXPECT_FALSE(settle(first, "p.pppppp"));
  EXPECT_EQ(take<DataTask>().extent, blocks(1, 1));
  const ChunksTask chunks = take<ChunksTask>();
  EXPECT_EQ(chunks.extent, (io::Extent{kSpan, kSize - kSpan}));
  EXPECT_TRUE(waits());  // until it is known where it ends
  plan.chunks_cut(*file, 10'001);
  const ChunksTask next = take<ChunksTask>();
  EXPECT_EQ(next.extent.offset, kSpan + 10'001);
  // A chunk that is missing is sent with the pages that it begins and ends in.
  const ProbedPiece pieces[] = {{{kSpan, 5000}, io::Digest{}, PieceVerdict::present},
                                {{kSpan + 5000, 5001}, io::Digest{}, PieceVerdict::missing}};
  EXPECT_FALSE(plan.settle_span(file, Spans::chunks, {.pieces = pieces}));
  EXPECT_EQ(take<DataTask>().extent, (io::Extent{kSpan + 4096, 8192}));
  EXPECT_EQ(file->surplus(), 8192u - 5001);
}

// One that differs is no longer asked about, and is sent as if it had never been compared.
TEST_F(PlanSpans, ADifferenceEndsAComparison) {
  open(Spans::probe, true);
  ProbeTask first = take<ProbeTask>();
  const ProbeTask second = take<ProbeTask>();
  EXPECT_FALSE(settle(second, "p.pp.ppp"));
  EXPECT_TRUE(waits());  // no further span, but that before is still out
  const auto over = settle(first, "pppppppp");
  EXPECT_TRUE(over && std::holds_alternative<AbandonTask>(*over));
  plan.settle_last_step(file);
  open(Spans::none);
  EXPECT_FALSE(file->compares() || file->begins_anew());
  EXPECT_TRUE(file->was_compared());
  EXPECT_EQ(file->kept_bytes(), 0u);
}

TEST_F(PlanSpans, WhatIsEqualIsCommittedAfterAComparison) {
  open(Spans::probe, true);
  ProbeTask spans[4];
  for (ProbeTask& span : spans) span = take<ProbeTask>();
  EXPECT_FALSE(settle(spans[3], "p"));
  EXPECT_FALSE(settle(spans[1], "pppppppp"));
  EXPECT_FALSE(settle(spans[2], "pppppppp"));
  EXPECT_TRUE(waits());
  EXPECT_TRUE(is_commit(settle(spans[0], "pppppppp")));
}

}  // namespace
}  // namespace rdcp::tree
