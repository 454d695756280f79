// A source that asks what it may not ask, or not so; and comparisons by hand.
#include <cstring>

#include "tests/tree/target/hostile_fixture.h"
#include "tree/pages/chunker.h"
#include "tree/pages/probe.h"

namespace rdcp::tree {
namespace {

using net::AckStatus;
using net::FrameKind;

constexpr std::uint64_t kSize = 200'000;
constexpr std::uint64_t kBlock = 16 << 10;

struct ProbeTest : HostileTest {
  ProbeTest() {
    settings.delta = true;
    write_file(scratch / "root/file", old);
  }

  static Sent about(Sent sent, std::uint64_t offset, std::uint64_t id = 1) {
    sent.frame.file_id = id;
    sent.frame.offset = offset;
    return sent;
  }
  static Sent open(std::uint64_t size = kSize, const char* path = "file") {
    return about(frame_of(FrameKind::open, header_of(path)), size);
  }
  // As the source makes it, of `text` from `offset` on.
  static std::vector<std::byte> blocks_of(const std::string& text, std::uint64_t offset, std::uint64_t length,
                                          std::uint64_t block = kBlock) {
    const auto bytes = std::as_bytes(std::span(text)).subspan(offset, length);
    std::vector<std::byte> probe(kProbeBytesMax);
    std::size_t count = 0;
    for (std::uint64_t at = 0; at < length; at += block) {
      Probe::put_digest(probe, count++, io::digest_of(bytes.subspan(at, std::min(block, length - at))));
    }
    Probe::put_head(probe, Probe::Form::blocks, length, block);
    probe.resize(Probe::bytes_of(Probe::Form::blocks, count));
    return probe;
  }
  static Sent probe(std::vector<std::byte> payload, std::uint64_t offset = 0) {
    return about(frame_of(FrameKind::probe, std::move(payload)), offset);
  }
  static std::vector<std::byte> raw_probe(std::uint64_t length, std::uint64_t size, std::uint32_t form,
                                          std::size_t bytes) {
    std::vector<std::byte> probe(kProbeBytesMax);
    Probe::put_head(probe, static_cast<Probe::Form>(form), length, size);
    probe.resize(bytes);
    return probe;
  }
  static std::vector<std::byte> chunks(const std::vector<std::uint64_t>& lengths, std::uint64_t length,
                                       std::uint64_t average = 8192) {
    std::vector<std::byte> probe(1 << 16);
    for (std::size_t i = 0; i < lengths.size(); ++i) Probe::put_chunk(probe, i, {}, lengths[i]);
    Probe::put_head(probe, Probe::Form::chunks, length, average);
    probe.resize(Probe::bytes_of(Probe::Form::chunks, lengths.size()));
    return probe;
  }

  void expect_broken(const std::vector<Sent>& frames) {
    Heard said;
    answers.clear();
    attack(frames);
    EXPECT_FALSE(complete);
    ASSERT_FALSE(heard.problems().empty());
    EXPECT_EQ(heard.problems().back().kind, io::ErrorKind::protocol) << heard.text();
    EXPECT_TRUE(content_of(scratch / "root/file") == old);
    EXPECT_EQ(names_in(scratch / "root"), std::vector<std::string>{"file"});
  }

  const std::string old = test_bytes(kSize);
};

TEST_F(ProbeTest, WhatIsEqualIsTakenOver) {
  Sent commit = about(frame_of(FrameKind::commit, header_of("file")), kSize);
  io::FileDigest digest;
  for (std::uint64_t at = 0; at < kSize; at += kBlock) {
    const std::uint64_t length = std::min(kBlock, kSize - at);
    digest.add(at, length, io::digest_of(std::as_bytes(std::span(old)).subspan(at, length)));
  }
  commit.frame.extra = digest.value();
  attack({open(), probe(blocks_of(old, 0, kSize)), commit});
  EXPECT_TRUE(complete);
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(answers, (std::vector{AckStatus::has_basis, AckStatus::done, AckStatus::done}));
  EXPECT_TRUE(content_of(scratch / "root/file") == old);
}

TEST_F(ProbeTest, ACommitThatClaimsMoreThanWasEqual) {
  std::string other = old;
  other[100] ^= 1;
  Sent commit = about(frame_of(FrameKind::commit, header_of("file")), kSize);
  io::FileDigest digest;
  for (std::uint64_t at = 0; at < kSize; at += kBlock) {
    const std::uint64_t length = std::min(kBlock, kSize - at);
    digest.add(at, length, io::digest_of(std::as_bytes(std::span(other)).subspan(at, length)));
  }
  commit.frame.extra = digest.value();
  attack({open(), probe(blocks_of(other, 0, kSize)), commit});
  EXPECT_FALSE(complete);
  EXPECT_EQ(heard.problems().at(0).kind, io::ErrorKind::digest);
  EXPECT_TRUE(content_of(scratch / "root/file") == old);
}

TEST_F(ProbeTest, PlacesAndSizesThatDoNotFit) {
  const auto good = blocks_of(old, 0, kBlock);
  for (const std::uint64_t offset :
       {std::uint64_t{1}, kSize - 1, kSize, std::uint64_t{1} << 40, (std::uint64_t{1} << 63) - 8192}) {
    expect_broken({open(), probe(good, offset)});
  }
  for (const std::uint64_t length : {std::uint64_t{0}, kSize + 1, ~std::uint64_t{0}}) {
    expect_broken({open(), probe(raw_probe(length, kBlock, 0, 16 + 16 * 13))});
  }
  for (const std::uint64_t size : {0, 1, 100, 4095, 32 << 10, 1 << 30}) {
    expect_broken({open(), probe(raw_probe(kBlock, size, 0, 16 + 16))});
  }
  for (const std::size_t bytes : {1, 15, 16, 17, 31, 33, 48, 4096}) {
    expect_broken({open(), probe(raw_probe(kBlock, kBlock, 0, bytes))});
  }
  expect_broken({open(), probe(raw_probe(kBlock, kBlock, 2, 32))});
  expect_broken({open(1 << 30), probe(raw_probe(129 * kBlock, kBlock, 0, 16 + 129 * 16))});
}

TEST_F(ProbeTest, ChunksThatThereCannotBe) {
  const std::uint64_t big = 1 << 20;
  expect_broken({open(big), probe(chunks({4000, 4000}, 8001))});
  expect_broken({open(big), probe(chunks({4000, 0}, 4000))});
  expect_broken({open(big), probe(chunks({40'000}, 40'000))});
  expect_broken({open(big), probe(chunks({4000}, 4000, 5000))});
  expect_broken({open(big), probe(chunks({4000}, 4000, 2048))});
  expect_broken({open(big), probe(chunks({4000}, 4000, 1u << 31))});
  expect_broken({open(big), probe(chunks(std::vector<std::uint64_t>(129, 10), 1290))});
  expect_broken({open(big), probe(chunks({4000}, 4000), big - 3999)});
  expect_broken({open(big), probe(chunks({}, 4000))});
}

TEST_F(ProbeTest, AFileWithoutAnOldOne) {
  expect_broken({probe(blocks_of(old, 0, kBlock))});
  expect_broken({open(kSize, "other"), probe(blocks_of(old, 0, kBlock))});
  Sent ask = about(frame_of(FrameKind::ask), 0);
  Probe::put_question(ask.frame.extra, kBlock, kBlock);
  expect_broken({ask});
  expect_broken({open(), ask});
  settings.delta = false;
  expect_broken({open(), probe(blocks_of(old, 0, kBlock))});
}

TEST_F(ProbeTest, ChunksOfAFileThatIsOverwritten) {
  settings.inplace = true;
  expect_broken({open(), probe(chunks({4000}, 4000))});
}

struct CompareTest : ProbeTest {
  CompareTest() { settings.checksum = true; }
  static Sent compare(std::uint64_t size = kSize, const char* path = "file") {
    Sent sent = open(size, path);
    sent.frame.flags = net::kFlagCompare;
    return sent;
  }
};

TEST_F(CompareTest, OnlyWhatHasItsSizeIsCompared) {
  attack({compare(kSize + 1), compare(kSize, "missing"), compare()});
  EXPECT_TRUE(complete);
  EXPECT_EQ(answers, (std::vector{AckStatus::unsupported, AckStatus::unsupported, AckStatus::has_basis}));
  EXPECT_EQ(names_in(scratch / "root"), std::vector<std::string>{"file"});
}

// Else whoever may send could guess what is in a file, block by block.
TEST_F(CompareTest, OnlyWhereItWasAgreedOn) {
  settings.checksum = false;
  expect_broken({compare()});
  settings.delta = false;
  expect_broken({compare(), probe(blocks_of(old, 0, kBlock))});
}

TEST_F(CompareTest, BytesAreRefused) {
  expect_broken({compare(), about(frame_of(FrameKind::data, std::vector<std::byte>(100)), 0)});
}

TEST_F(CompareTest, WhatIsComparedStaysAsItIs) {
  std::string other = old;
  other[70'001] ^= 1;
  Sent abandon = frame_of(FrameKind::abandon);
  abandon.frame.file_id = 1;
  attack({compare(), probe(blocks_of(other, 65536, kBlock)), abandon});
  EXPECT_TRUE(complete) << heard.text();
  EXPECT_EQ(std::ranges::count(answers, AckStatus::refused), 0);
  EXPECT_TRUE(content_of(scratch / "root/file") == old);
}

TEST_F(CompareTest, BlocksBetweenPages) {
  expect_broken({compare(), probe(blocks_of(old, 65536 + 4464, 128, 1), 65536 + 4464)});
}

}  // namespace
}  // namespace rdcp::tree
