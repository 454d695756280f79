#include "tree/handlers/probes.h"

#include <filesystem>
#include <string>

#include "tests/tree/handlers/handler_fixture.h"
#include "tree/handlers/file_committer.h"
#include "tree/handlers/file_opener.h"

namespace rdcp::tree {
namespace {

using net::AckStatus;
using net::FrameKind;

constexpr std::size_t kBlock = 64 << 10;

class ProbesTest : public HandlerTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    job.settings.delta = true;
    job.settings.verify = GetParam();
  }
  void start() {
    begin();
    ASSERT_GE(block_bytes_for(kHandlerChunk), kBlock);
    read_back.emplace(*context);
    writer.emplace(*context, *read_back);
    opener.emplace(*context, *writer, nullptr);
    committer.emplace(*context, *writer);
    probes.emplace(*context, *writer, *read_back);
  }
  AckStatus open(std::uint64_t size) {
    return opener->open(frame_for(FrameKind::open, kFileId, size), header_for("file"));
  }
  // Asks about the whole of `content`, block by block.
  AckStatus probe(const std::string& content) {
    const std::size_t count = (content.size() + kBlock - 1) / kBlock;
    std::vector<std::byte> payload(Probe::bytes_of(Probe::Form::blocks, count));
    Probe::put_head(payload, Probe::Form::blocks, content.size(), kBlock);
    const auto bytes = std::as_bytes(std::span(content));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = i * kBlock;
      const auto block = bytes.subspan(at, std::min(kBlock, content.size() - at));
      Probe::put_digest(payload, i, io::digest_of(block));
    }
    return run(probes->probe(frame_for(FrameKind::probe, kFileId, 0), payload, room_of(slot()), verdicts));
  }
  PieceVerdict verdict(std::size_t block) const { return static_cast<PieceVerdict>(verdicts.at(block)); }

  std::optional<FileReadBack> read_back;
  std::optional<FileWriter> writer;
  std::optional<FileOpener> opener;
  std::optional<FileCommitter> committer;
  std::optional<Probes> probes;
  net::Verdicts verdicts;
};

TEST_P(ProbesTest, EqualBlocksAreTakenOverAndOthersAreMissing) {
  std::string old(3 * kBlock, 'a');
  std::string now = old;
  now[kBlock + 5] = 'x';
  write_file(scratch / "file", old);
  start();
  EXPECT_EQ(open(now.size()), AckStatus::has_basis);
  EXPECT_EQ(probe(now), AckStatus::done);
  EXPECT_EQ(verdict(0), PieceVerdict::present);
  EXPECT_EQ(verdict(1), PieceVerdict::missing);
  EXPECT_EQ(verdict(2), PieceVerdict::present);
  // What is missing comes as data; the commit's digest says that the rest was counted.
  const net::Frame middle = data_in_slot(kFileId, kBlock, std::string_view(now).substr(kBlock, kBlock));
  EXPECT_EQ(run(writer->write(middle, slot())), AckStatus::done);
  io::FileDigest digest;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto block = std::as_bytes(std::span(now)).subspan(i * kBlock, kBlock);
    digest.add(i * kBlock, kBlock, io::digest_of(block));
  }
  net::Frame commit = frame_for(FrameKind::commit, kFileId, now.size());
  commit.extra = digest.value();
  EXPECT_EQ(committer->commit(commit, header_for("file")), AckStatus::done);
  EXPECT_EQ(content_of(scratch / "file"), now);
  EXPECT_EQ(heard.text(), "");
}

TEST_P(ProbesTest, AFileOfAnotherSizeMayHaveTheBlockElsewhere) {
  write_file(scratch / "file", std::string(2 * kBlock, 'a'));
  start();
  EXPECT_EQ(open(3 * kBlock), AckStatus::has_basis);
  EXPECT_EQ(probe(std::string(kBlock, 'a') + std::string(2 * kBlock, 'b')), AckStatus::done);
  EXPECT_EQ(verdict(0), PieceVerdict::present);
  EXPECT_EQ(verdict(1), PieceVerdict::moved);
}

TEST_P(ProbesTest, AProbeWithoutAnOldFileEndsTheRun) {
  start();
  const AckStatus opened = open(kBlock);
  EXPECT_TRUE(opened == AckStatus::in_turn || opened == AckStatus::done);
  EXPECT_EQ(probe(std::string(kBlock, 'a')), AckStatus::refused);
  expect_protocol_error("a probe of a file that has no old one");
}

TEST_P(ProbesTest, AProbeOfAFileThatIsNotOpenEndsTheRun) {
  start();
  EXPECT_EQ(probe(std::string(kBlock, 'a')), AckStatus::refused);
  expect_protocol_error("a question about a file that is not open");
}

TEST_P(ProbesTest, AProbeBeyondTheFileEndsTheRun) {
  write_file(scratch / "file", std::string(2 * kBlock, 'a'));
  start();
  open(kBlock);
  EXPECT_EQ(probe(std::string(2 * kBlock, 'a')), AckStatus::refused);
  expect_protocol_error("a question outside its file");
}

TEST_P(ProbesTest, AQuestionAboutAPartThatIsNotThereEndsTheRun) {
  write_file(scratch / "file", std::string(2 * kBlock, 'a'));
  start();
  open(2 * kBlock);
  net::Frame ask = frame_for(FrameKind::ask, kFileId, 0);
  Probe::put_question(ask.extra, kBlock, kBlock);
  EXPECT_EQ(run(probes->ask(ask, slot(), verdicts)), AckStatus::refused);
  expect_protocol_error("a question about a file of which no part exists");
}

TEST_P(ProbesTest, GarbageEndsTheRun) {
  write_file(scratch / "file", std::string(2 * kBlock, 'a'));
  start();
  open(2 * kBlock);
  const std::vector<std::byte> garbage(40, std::byte{0xff});
  EXPECT_EQ(run(probes->probe(frame_for(FrameKind::probe, kFileId, 0), garbage, room_of(slot()), verdicts)),
            AckStatus::refused);
  EXPECT_TRUE(session->refusing());
}

INSTANTIATE_TEST_SUITE_P(, ProbesTest, testing::Bool(),
                         [](const auto& verify) { return verify.param ? "Verified" : "Plain"; });

}  // namespace
}  // namespace rdcp::tree
