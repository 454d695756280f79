// Parts of a large file that the target may already have are probed before they are sent.
#include "tests/tree/source/task_fixture.h"
#include "tree/pages/probe.h"

namespace rdcp::tree {
namespace {

using net::AckStatus;

struct SpanTasks : TaskTest {
  // Answers: p present, m moved, else missing.
  static net::Verdicts verdicts_of(const std::string& letters) {
    net::Verdicts verdicts;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const PieceVerdict verdict = letters[i] == 'p'   ? PieceVerdict::present
                                   : letters[i] == 'm' ? PieceVerdict::moved
                                                       : PieceVerdict::missing;
      verdicts.set(i, static_cast<std::uint8_t>(verdict));
    }
    return verdicts;
  }
  static std::string noise(std::size_t length) {
    std::string bytes(length, '\0');
    std::uint64_t state = 1;
    for (char& c : bytes) c = static_cast<char>((state = state * 6364136223846793005 + 1) >> 56);
    return bytes;
  }
  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
  }
};

TEST_F(SpanTasks, AProbeHasTheDigestsOfItsBlocks) {
  begin();
  const std::string content = noise(50'000);
  const auto large = open(file("large", content), AckStatus::has_basis);
  Task task = take();
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::probe);
  const auto probe = Probe::parse(payload(filled));
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->length(), 50'000u);
  const std::uint64_t block = large->block_bytes();
  ASSERT_EQ(probe->count(), (50'000 + block - 1) / block);
  EXPECT_EQ(probe->digest(1), io::digest_of(bytes_of(content).subspan(block, block)));
}

TEST_F(SpanTasks, OnlyWhatIsMissingIsSent) {
  begin();
  const auto large = open(file("large", noise(50'000)), AckStatus::has_basis);
  const std::uint64_t block = large->block_bytes();
  Task task = take();
  EXPECT_FALSE(answer(task, fill_slot(task), AckStatus::done, verdicts_of("p.pp")));
  EXPECT_EQ(done().kept_bytes, 50'000 - block);
  EXPECT_EQ(done().bytes, 50'000 - block);
  Task data = take();
  EXPECT_EQ(std::get<DataTask>(data).extent, (io::Extent{block, block}));
  EXPECT_TRUE(plan_waits());
  const auto next = answer(data, fill_slot(data), AckStatus::done);
  EXPECT_TRUE(next && std::holds_alternative<CommitTask>(*next));
  EXPECT_EQ(done().bytes, 50'000u);
}

TEST_F(SpanTasks, WhatIsAllThereIsCommittedWithTheDigestOfItsBlocks) {
  begin();
  const std::string content = noise(20'000);
  const auto large = open(file("large", content), AckStatus::has_basis);
  const std::uint64_t block = large->block_bytes();
  Task task = take();
  (void)answer(task, fill_slot(task), AckStatus::done, verdicts_of("pppppppp"));
  EXPECT_TRUE(std::holds_alternative<CommitTask>(take()));
  io::FileDigest expected;
  for (std::uint64_t at = 0; at < content.size(); at += block) {
    const std::uint64_t length = std::min(block, content.size() - at);
    expected.add(at, length, io::digest_of(bytes_of(content).subspan(at, length)));
  }
  EXPECT_EQ(large->digest(), expected.value());
}

TEST_F(SpanTasks, ARefusedProbeAbandonsTheFile) {
  begin();
  open(file("large", noise(20'000)), AckStatus::has_basis);
  Task task = take();
  (void)answer(task, fill_slot(task), AckStatus::refused);
  EXPECT_TRUE(std::holds_alternative<AbandonTask>(take()));
  EXPECT_EQ(done().kept_bytes, 0u);
}

// The target may have acted on it.
TEST_F(SpanTasks, AProbeOfALostStreamIsSentAgainAsItWas) {
  begin();
  open(file("large", noise(50'000)), AckStatus::has_basis);
  Task task = take();
  const FilledSlot filled = fill_slot(task);
  const std::string before = text(filled);
  EXPECT_TRUE(keep_for_another_stream(task, filled, slot()));
  write_file(scratch / "large", std::string(50'000, 'x'));
  std::ranges::fill(slot(), std::byte{0});
  const FilledSlot again = fill_slot(task);
  EXPECT_EQ(text(again), before);
  EXPECT_EQ(again.frame.offset, filled.frame.offset);
}

TEST_F(SpanTasks, AProbeOfAFileThatBecameShorterEndsThere) {
  begin();
  const auto large = open(file("large", noise(50'000)), AckStatus::has_basis);
  Task task = take();
  ASSERT_EQ(::truncate((scratch / "large").c_str(), 10'000), 0);
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(Probe::parse(payload(filled))->length(), 10'000u);
  EXPECT_EQ(large->length(), 10'000u);
}

TEST_F(SpanTasks, WhatMovedIsCutByContent) {
  begin();
  const std::string content = noise(200'000);
  const auto large = open(file("large", content), AckStatus::has_basis);
  Task probe = take();
  const io::Extent span = std::get<ProbeTask>(probe).extent;
  ASSERT_EQ(span.length / large->block_bytes(), 8u);
  EXPECT_FALSE(answer(probe, fill_slot(probe), AckStatus::done, verdicts_of("mmmmmmmm")));
  Task task = take();
  ASSERT_TRUE(std::holds_alternative<ChunksTask>(task));
  const FilledSlot filled = fill_slot(task);
  const auto chunks = Probe::parse(payload(filled));
  ASSERT_TRUE(chunks);
  EXPECT_EQ(chunks->form(), Probe::Form::chunks);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < chunks->count(); ++i) {
    const std::uint64_t length = chunks->piece_length(i);
    EXPECT_EQ(chunks->digest(i), io::digest_of(bytes_of(content).subspan(at, length))) << i;
    at += length;
  }
  EXPECT_EQ(at, chunks->length());
  // The first is elsewhere in the old file, the others are not: these are sent, page by page.
  const std::uint64_t first = chunks->piece_length(0);
  EXPECT_FALSE(answer(task, filled, AckStatus::done, verdicts_of("p")));
  EXPECT_EQ(done().kept_bytes, first);
  EXPECT_EQ(std::get<DataTask>(take()).extent.offset, first / io::kPageBytes * io::kPageBytes);
}

TEST_F(SpanTasks, AnAskNamesItsBlocksWithoutAPayload) {
  begin();
  const auto large = open(file("large", noise(50'000)), AckStatus::has_part);
  const std::uint64_t block = large->block_bytes();
  Task task = take();
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::ask);
  EXPECT_EQ(filled.length, 0u);
  const auto question = Probe::parse_question(filled.frame.extra);
  ASSERT_TRUE(question);
  EXPECT_EQ(question->length(), 50'000u);
  EXPECT_FALSE(answer(task, filled, AckStatus::done, verdicts_of(".ppp")));
  EXPECT_EQ(large->digest(), io::FileDigest().value()) << "neither side counts what an earlier run wrote";
  EXPECT_EQ(std::get<DataTask>(take()).extent, (io::Extent{0, block}));
}

}  // namespace
}  // namespace rdcp::tree
