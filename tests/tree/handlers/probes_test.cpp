#include "tree/handlers/probes.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <initializer_list>
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
    committer.emplace(*context, *writer, nullptr);
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
  // Commits the file, of which these blocks have been counted.
  AckStatus commit(const std::string& now, std::initializer_list<std::size_t> counted) {
    io::FileDigest digest;
    for (const std::size_t i : counted) {
      const std::string_view block = std::string_view(now).substr(i * kBlock, kBlock);
      digest.add(i * kBlock, block.size(), io::digest_of(std::as_bytes(std::span(block))));
    }
    net::Frame frame = frame_for(FrameKind::commit, kFileId, now.size());
    frame.extra = digest.value();
    return committer->commit(frame, header_for("file"));
  }
  AckStatus write(const std::string& now, std::size_t block) {
    const net::Frame data =
        data_in_slot(kFileId, block * kBlock, std::string_view(now).substr(block * kBlock, kBlock));
    return run(writer->write(data, slot()));
  }
  // Asks what an earlier run has written.
  AckStatus ask(std::size_t blocks) {
    net::Frame frame = frame_for(FrameKind::ask, kFileId, 0);
    Probe::put_question(frame.extra, blocks * kBlock, kBlock);
    verdicts = {};
    return run(probes->ask(frame, slot(), verdicts));
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
  EXPECT_EQ(write(now, 1), AckStatus::done);
  EXPECT_EQ(commit(now, {0, 1, 2}), AckStatus::done);
  EXPECT_EQ(content_of(scratch / "file"), now);
  EXPECT_EQ(heard.text(), "");
}

// The source has heard that nothing is missing, from somebody between it and this target.
TEST_P(ProbesTest, AFileOfWhichSomethingMissingHasNotComeIsNotPut) {
  const std::string old(3 * kBlock, 'a');
  std::string now = old;
  now[kBlock + 5] = now[2 * kBlock] = 'x';
  write_file(scratch / "file", old);
  start();
  session->files.others = true;
  EXPECT_EQ(open(now.size()), AckStatus::has_basis);
  EXPECT_EQ(probe(now), AckStatus::done);
  EXPECT_EQ(write(now, 1), AckStatus::done);
  EXPECT_EQ(commit(now, {1}), AckStatus::refused);
  EXPECT_EQ(content_of(scratch / "file"), old);
  EXPECT_THAT(heard.text(), testing::HasSubstr("file: parts of it are missing, and were not sent"));
}

TEST_P(ProbesTest, APartOfWhichSomethingMissingHasNotComeIsNotPut) {
  const std::string now(kPartBytesMin, 'a');
  const std::size_t blocks = now.size() / kBlock;
  job.settings.resume = true;
  start();
  net::Frame begin = frame_for(FrameKind::open, kFileId, now.size());
  begin.extra.bytes[0] = std::byte{1};
  const AckStatus first = opener->open(begin, header_for("file"));
  EXPECT_TRUE(first == AckStatus::in_turn || first == AckStatus::done) << int(first);
  EXPECT_EQ(write(now, 0), AckStatus::done);
  session->files.open.take(kFileId);
  EXPECT_EQ(opener->open(begin, header_for("file")), AckStatus::has_part);
  EXPECT_EQ(ask(3), AckStatus::done);
  EXPECT_EQ(verdict(0), PieceVerdict::present);
  EXPECT_EQ(verdict(1), PieceVerdict::missing);
  EXPECT_EQ(write(now, 1), AckStatus::done);
  EXPECT_GT(blocks, 3u);
  EXPECT_EQ(commit(now, {1}), AckStatus::refused);
  EXPECT_FALSE(std::filesystem::exists(scratch / "file"));
  EXPECT_THAT(heard.text(), testing::HasSubstr("file: parts of it are missing, and were not sent"));
}

// What this very run has begun to write is no other version of the file.
TEST_P(ProbesTest, AFilesOwnPartIsNotTakenForAFileThatMayBeAlike) {
  start();
  net::Frame begin = frame_for(FrameKind::open, kFileId, kPartBytesMin);
  begin.extra.bytes[0] = std::byte{1};
  const AckStatus opened = opener->open(begin, header_for("file"));
  EXPECT_TRUE(opened == AckStatus::in_turn || opened == AckStatus::done) << int(opened);
}

// It counts for those that lack it, as the data that comes, and for nobody else.
TEST_P(ProbesTest, WhatIsPresentDoesNotCountWhereAnotherTargetMayLackIt) {
  std::string now(3 * kBlock, 'a');
  now[kBlock + 5] = 'x';
  write_file(scratch / "file", std::string(3 * kBlock, 'a'));
  start();
  session->files.others = true;
  EXPECT_EQ(open(now.size()), AckStatus::has_basis);
  EXPECT_EQ(probe(now), AckStatus::done);
  EXPECT_EQ(verdict(2), PieceVerdict::present);
  for (const std::size_t block : {1, 2}) EXPECT_EQ(write(now, block), AckStatus::done);
  EXPECT_EQ(commit(now, {1, 2}), AckStatus::done);
  EXPECT_EQ(content_of(scratch / "file"), now);
  EXPECT_EQ(heard.text(), "");
}

TEST_P(ProbesTest, WhatIsMissingBehindTheEndOfAFileThatHasBecomeShorterNeedNotCome) {
  const std::string old(3 * kBlock, 'a');
  const std::string asked = old.substr(0, 2 * kBlock) + std::string(kBlock, 'b');
  write_file(scratch / "file", old);
  start();
  EXPECT_EQ(open(asked.size()), AckStatus::has_basis);
  EXPECT_EQ(probe(asked), AckStatus::done);
  EXPECT_EQ(verdict(2), PieceVerdict::missing);
  EXPECT_EQ(commit(asked.substr(0, 2 * kBlock), {0, 1}), AckStatus::done);
  EXPECT_EQ(content_of(scratch / "file"), old.substr(0, 2 * kBlock));
}

TEST_P(ProbesTest, AFileOfAnotherSizeHasNothingElsewhereWhereThereAreOtherTargets) {
  write_file(scratch / "file", std::string(2 * kBlock, 'a'));
  start();
  session->files.others = true;
  EXPECT_EQ(open(3 * kBlock), AckStatus::has_basis);
  EXPECT_EQ(probe(std::string(kBlock, 'a') + std::string(2 * kBlock, 'b')), AckStatus::done);
  EXPECT_EQ(verdict(0), PieceVerdict::present);
  EXPECT_EQ(verdict(1), PieceVerdict::missing);
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
