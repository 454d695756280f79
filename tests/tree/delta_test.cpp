// Large files of which the target has an old version: what crosses, and what becomes of the old one.
#include <atomic>
#include <filesystem>
#include <random>

#include "tests/tree/cut_wire.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = 16 << 10;  // with slots of 64 KiB
constexpr std::size_t kMiB = 1 << 20;

struct DeltaTest : testing::Test {
  // One copy of `now` over `before`; what is there afterwards must be `now`.
  CopyResult update(const std::string& before, const std::string& now, CopyCase copy) {
    write_file(scratch / "from", now);
    write_file(scratch / "to", before);
    copy.sources = {scratch / "from"};
    copy.destination = scratch / "to";
    copy.recursive = false;
    copy.delta = true;
    const net::MemoryTap given = copy.tap;
    data_bytes = 0;
    probes = 0;
    copy.tap = [&, given](net::Frame& frame, std::span<std::byte> payload) {
      if (frame.kind == net::FrameKind::data) data_bytes += frame.length;
      if (frame.kind == net::FrameKind::probe) ++probes;
      return !given || given(frame, payload);
    };
    const std::uint64_t inode = status_of(scratch / "to").st_ino;
    const CopyResult result = run_copy(copy, heard);
    EXPECT_TRUE(result.complete());
    EXPECT_EQ(heard.text(), "");
    EXPECT_TRUE(content_of(scratch / "to") == now);
    EXPECT_EQ(names_in(scratch.path()), (std::vector<std::string>{"from", "to"}));
    const bool large = now.size() > copy.chunk_bytes / 4;
    EXPECT_EQ(status_of(scratch / "to").st_ino == inode, copy.inplace && large);
    EXPECT_EQ(result.source.bytes, now.size());
    EXPECT_EQ(result.target.bytes, now.size());
    return result;
  }

  // In every way that a file is read and written.
  void expect_data(const std::string& before, const std::string& now, std::uint64_t least,
                   std::uint64_t most) {
    for (int way = 0; way < 8; ++way) {
      SCOPED_TRACE(way);
      CopyCase copy;
      copy.inplace = way % 2 == 1;
      if (way % 4 >= 2) copy.cache = io::CacheMode::bypass;
      if (way >= 4) copy.ring = io::RingChoice::thread_pool;
      const CopyResult result = update(before, now, copy);
      EXPECT_GE(data_bytes, least);
      EXPECT_LE(data_bytes, most);
      EXPECT_EQ(result.source.kept_bytes, now.size() - data_bytes);
      if (HasFailure()) return;
    }
  }

  ScratchDirectory scratch;
  Heard heard;
  std::atomic<std::uint64_t> data_bytes{0};
  std::atomic<int> probes{0};
};

TEST_F(DeltaTest, NothingChanged) {
  expect_data(test_bytes(3 * kMiB + 77), test_bytes(3 * kMiB + 77), 0, 0);
  EXPECT_GT(probes, 0);
}

TEST_F(DeltaTest, Appended) {
  const std::string now = test_bytes(3 * kMiB + 5000);
  expect_data(now.substr(0, 3 * kMiB - 100), now, 5100, 5100 + kBlock);
}

TEST_F(DeltaTest, CutOff) {
  const std::string before = test_bytes(3 * kMiB + 5000);
  expect_data(before, before.substr(0, kMiB + 13), 0, kBlock);
  expect_data(before, before.substr(0, 2 * kMiB), 0, 0);
}

TEST_F(DeltaTest, OverwrittenInTheMiddle) {
  const std::string before = test_bytes(4 * kMiB + 1);
  std::string now = before;
  now.replace(kMiB + 700, 100'000, test_bytes(100'000, 9));
  now[3 * kMiB] ^= 1;
  expect_data(before, now, 100'001, 100'000 + 4 * kBlock);
}

TEST_F(DeltaTest, AllDifferent) {
  expect_data(test_bytes(2 * kMiB + 5), test_bytes(2 * kMiB + 5, 2), 2 * kMiB + 5, 2 * kMiB + 5);
}

TEST_F(DeltaTest, MuchSmallerAndMuchLarger) {
  expect_data(test_bytes(5 * kMiB), test_bytes(200'000, 3), 200'000, 200'000);
  expect_data(test_bytes(kBlock), test_bytes(3 * kMiB), 3 * kMiB - kBlock, 3 * kMiB - kBlock);
  expect_data("x", test_bytes(kMiB), kMiB, kMiB);
  EXPECT_EQ(probes, 0);
  expect_data(test_bytes(kMiB), "", 0, 0);
}

TEST_F(DeltaTest, RandomChanges) {
  std::mt19937 random(7);
  for (int run = 0; run < 40; ++run) {
    SCOPED_TRACE(run);
    const std::string before = test_bytes(200'000 + random() % (2 * kMiB), random());
    std::string now = before.substr(0, before.size() - random() % 100'000);
    now += test_bytes(random() % 100'000, random());
    for (unsigned i = random() % 5; i > 0; --i) {
      const std::size_t length = random() % 50'000;
      const std::size_t at = random() % (now.size() - length);
      now.replace(at, length, test_bytes(length, random()));
    }
    CopyCase copy;
    copy.inplace = run % 2 == 0;
    copy.streams = static_cast<std::uint16_t>(1 + random() % 3);
    copy.chunk_bytes = run % 3 == 0 ? 256 << 10 : 64 << 10;
    update(before, now, copy);
    if (HasFailure()) return;
  }
}

TEST_F(DeltaTest, WithoutDeltaAllIsSent) {
  write_file(scratch / "from", test_bytes(kMiB));
  write_file(scratch / "to", test_bytes(kMiB));
  CopyCase copy;
  copy.sources = {scratch / "from"};
  copy.destination = scratch / "to";
  copy.recursive = false;
  const CopyResult result = run_copy(copy, heard);
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(result.source.kept_bytes, 0u);
  EXPECT_GT(result.source.wire_bytes, kMiB);
}

// Holes are neither asked about nor taken from the old file.
TEST_F(DeltaTest, HolesStayHoles) {
  const std::string before = test_bytes(4 * kMiB);
  write_file(scratch / "to", before);
  {
    const io::Fd sparse(::open((scratch / "from").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
    ASSERT_EQ(::pwrite(sparse.get(), before.data(), 100'000, 0), 100'000);
    ASSERT_EQ(::pwrite(sparse.get(), before.data() + 3 * kMiB, 50'000, 3 * kMiB), 50'000);
    ASSERT_EQ(::pwrite(sparse.get(), "new", 3, 3 * kMiB + 500'000), 3);
    ASSERT_EQ(::ftruncate(sparse.get(), 5 * kMiB), 0);
  }
  CopyCase copy;
  copy.sources = {scratch / "from"};
  copy.destination = scratch / "to";
  copy.recursive = false;
  copy.delta = true;
  const CopyResult result = run_copy(copy, heard);
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_TRUE(content_of(scratch / "to") == content_of(scratch / "from"));
  EXPECT_LT(status_of(scratch / "to").st_blocks * 512, 400 << 10);
  EXPECT_GT(result.source.kept_bytes, 100'000u);
}

TEST_F(DeltaTest, HolesOverOldDataInPlace) {
  write_file(scratch / "to", test_bytes(2 * kMiB));
  {
    const io::Fd sparse(::open((scratch / "from").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
    ASSERT_EQ(::pwrite(sparse.get(), "begin", 5, 0), 5);
    ASSERT_EQ(::ftruncate(sparse.get(), 3 * kMiB), 0);
  }
  CopyCase copy;
  copy.sources = {scratch / "from"};
  copy.destination = scratch / "to";
  copy.recursive = false;
  copy.delta = true;
  copy.inplace = true;
  EXPECT_TRUE(run_copy(copy, heard).complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_TRUE(content_of(scratch / "to") == content_of(scratch / "from"));
}

TEST_F(DeltaTest, WhatIsNoFileIsReplaced) {
  write_file(scratch / "from", test_bytes(kMiB));
  write_file(scratch / "secret", test_bytes(kMiB));
  fs::create_directory(scratch / "dir");
  for (const bool inplace : {false, true}) {
    fs::remove(scratch / "dir/from");
    fs::create_symlink("../secret", scratch / "dir/from");
    CopyCase copy;
    copy.sources = {scratch / "from"};
    copy.destination = scratch / "dir";
    copy.recursive = false;
    copy.delta = true;
    copy.inplace = inplace;
    const CopyResult result = run_copy(copy, heard);
    EXPECT_TRUE(result.complete());
    EXPECT_EQ(result.source.kept_bytes, 0u);
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(scratch / "dir/from")));
    EXPECT_TRUE(content_of(scratch / "secret") == test_bytes(kMiB));
  }
}

TEST_F(DeltaTest, ADamagedProbeIsSentAgain) {
  const std::string before = test_bytes(2 * kMiB);
  std::string now = before;
  now[kMiB] ^= 1;
  CopyCase copy;
  std::atomic<int> seen{0};
  copy.tap = [&](net::Frame& frame, std::span<std::byte> payload) {
    if (frame.kind == net::FrameKind::probe && seen++ % 3 == 0) payload[20] ^= std::byte{1};
    return true;
  };
  const CopyResult result = update(before, now, copy);
  EXPECT_GT(result.source.resent_chunks, 0u);
  EXPECT_LE(data_bytes, kBlock);
}

// What was taken over before a stream broke counts once, whether its answer was heard or not.
TEST_F(DeltaTest, StreamsThatBreak) {
  std::mt19937 random(3);
  int lost = 0;
  for (int run = 0; run < 40; ++run) {
    SCOPED_TRACE(run);
    const std::string before = test_bytes(3 * kMiB, 5);
    std::string now = before;
    for (int i = 0; i < 20; ++i) now[random() % now.size()] ^= 1;
    write_file(scratch / "from", now);
    write_file(scratch / "to", before);
    CopyCase copy;
    copy.sources = {scratch / "from"};
    copy.destination = scratch / "to";
    copy.recursive = false;
    copy.delta = true;
    copy.inplace = run % 3 == 0;
    copy.streams = 3;
    std::vector<std::unique_ptr<CutWire>> wires;
    copy.join = [&](int stream, const net::StreamShape& shape) {
      const std::uint64_t to_target = stream == 1 && run % 2 == 0 ? random() % 150'000 : kNever;
      const std::uint64_t to_source =
          stream == 1 && run % 2 == 1 ? copy.depth * net::kFrameBytes + random() % 900 : kNever;
      wires.push_back(std::make_unique<CutWire>(to_target, to_source));
      return wires.back()->ends(shape);
    };
    const CopyResult result = run_copy(copy, heard);
    EXPECT_TRUE(result.complete());
    EXPECT_EQ(heard.text(), "");
    EXPECT_TRUE(content_of(scratch / "to") == now);
    EXPECT_EQ(result.source.bytes, now.size());
    EXPECT_EQ(result.target.bytes, now.size());
    lost += static_cast<int>(result.source.lost_streams.size());
    if (HasFailure()) return;
  }
  EXPECT_GT(lost, 10);
}

}  // namespace
}  // namespace rdcp::tree
