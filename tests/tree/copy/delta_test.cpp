// Large files of which the target has an old version: what crosses, and what becomes of the old one.
#include <atomic>
#include <filesystem>
#include <random>

#include "tests/tree/copy/cut_wire.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlockBytes = 16 << 10;  // with slots of 64 KiB
constexpr std::uint64_t kMiB = 1 << 20;

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
    EXPECT_GE(result.target.bytes, now.size());
    EXPECT_LE(result.target.bytes, now.size() * 2);
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
      if (way % 4 == 3) copy.ring = io::RingChoice::thread_pool;
      copy.verify = way >= 4;
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
  expect_data(now.substr(0, 3 * kMiB - 100), now, 5100, 5100 + kBlockBytes);
}

TEST_F(DeltaTest, CutOff) {
  const std::string before = test_bytes(3 * kMiB + 5000);
  expect_data(before, before.substr(0, kMiB + 13), 0, kBlockBytes);
  expect_data(before, before.substr(0, 2 * kMiB), 0, 0);
}

TEST_F(DeltaTest, OverwrittenInTheMiddle) {
  const std::string before = test_bytes(4 * kMiB + 1);
  std::string now = before;
  now.replace(kMiB + 700, 100'000, test_bytes(100'000, 9));
  now[3 * kMiB] ^= 1;
  expect_data(before, now, 100'001, 100'000 + 4 * kBlockBytes);
}

TEST_F(DeltaTest, AllDifferent) {
  expect_data(test_bytes(2 * kMiB + 5), test_bytes(2 * kMiB + 5, 2), 2 * kMiB + 5, 2 * kMiB + 5);
}

TEST_F(DeltaTest, MuchSmallerAndMuchLarger) {
  expect_data(test_bytes(5 * kMiB), test_bytes(200'000, 3), 200'000, 200'000);
  expect_data(test_bytes(kBlockBytes), test_bytes(3 * kMiB), 3 * kMiB - kBlockBytes, 3 * kMiB - kBlockBytes);
  expect_data("x", test_bytes(kMiB), kMiB, kMiB);
  EXPECT_EQ(probes, 0);
  expect_data(test_bytes(kMiB), "", 0, 0);
}

TEST_F(DeltaTest, RandomChanges) {
  std::mt19937 random(7);
  for (int run = 0; run < 15; ++run) {
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
    copy.verify = run % 4 >= 2;
    update(before, now, copy);
    if (HasFailure()) return;
  }
}

// The bytes after an insertion have moved. In place there is nowhere to take them from.
TEST_F(DeltaTest, InsertedAtTheFront) {
  const std::string before = test_bytes(8 * kMiB);
  for (int way = 0; way < 8; ++way) {
    SCOPED_TRACE(way);
    CopyCase copy;
    copy.streams = static_cast<std::uint16_t>(1 + way % 3);
    if (way % 2 == 1) copy.cache = io::CacheMode::bypass;
    if (way % 4 == 3) copy.ring = io::RingChoice::thread_pool;
    copy.verify = way >= 4;
    update(before, "x" + before, copy);
    EXPECT_LE(data_bytes, kMiB);
    if (HasFailure()) return;
  }
}

TEST_F(DeltaTest, InsertedAndDeletedInTheMiddle) {
  const std::string before = test_bytes(12 * kMiB);
  std::string now = before;
  now.erase(7 * kMiB, 10'001);
  now.insert(3 * kMiB + 77, test_bytes(5000, 7));
  update(before, now, {});
  EXPECT_LE(data_bytes, 2 * kMiB);
  update(now, before, {});
  EXPECT_LE(data_bytes, 2 * kMiB);
}

// Cut for nothing: then all the rest goes as it would have.
TEST_F(DeltaTest, AllDifferentAndOfAnotherSize) {
  const std::string now = test_bytes(9 * kMiB + 77, 2);
  const CopyResult result = update(test_bytes(10 * kMiB), now, {});
  EXPECT_GE(data_bytes, now.size());
  EXPECT_LE(data_bytes, now.size() + 20 * 4096);  // spans of chunks meet within pages
  EXPECT_EQ(result.source.kept_bytes, 0u);
}

// A log that grows by little is not searched for its last block.
TEST_F(DeltaTest, ALittleAppended) {
  const std::string now = test_bytes(4 * kMiB + 3000);
  std::atomic<bool> chunks{false};
  CopyCase copy;
  copy.tap = [&](net::Frame& frame, std::span<std::byte> payload) {
    if (frame.kind == net::FrameKind::probe && payload[12] != std::byte{0}) chunks = true;
    return true;
  };
  update(now.substr(0, 4 * kMiB - 3000), now, copy);
  EXPECT_FALSE(chunks);
  EXPECT_LE(data_bytes, 2 * kBlockBytes);
}

TEST_F(DeltaTest, RandomInsertionsWithStreamsThatBreak) {
  std::mt19937 random(11);
  int lost = 0;
  for (int run = 0; run < 9; ++run) {
    SCOPED_TRACE(run);
    const std::string before = test_bytes(4 * kMiB + random() % kMiB, random());
    std::string now = before;
    for (int i = 0; i < 3; ++i) {
      now.insert(random() % now.size(), test_bytes(random() % 9000, random()));
      now.erase(random() % (now.size() - 9000), random() % 9000);
    }
    CopyCase copy;
    copy.streams = 3;
    std::vector<std::unique_ptr<CutWire>> wires;
    if (run % 3 != 0) {
      copy.join = [&](int stream, const net::StreamShape& shape) {
        const bool cut = stream == 1;
        const std::uint64_t to_target = cut && run % 3 == 1 ? random() % 50'000 : kNever;
        const std::uint64_t to_source =
            cut && run % 3 == 2 ? copy.depth * net::kFrameBytes + random() % 900 : kNever;
        wires.push_back(std::make_unique<CutWire>(to_target, to_source));
        return wires.back()->ends(shape);
      };
    }
    lost += static_cast<int>(update(before, now, copy).source.lost_streams.size());
    if (HasFailure()) return;
  }
  EXPECT_GT(lost, 0);
}

// Somebody writes to the old file: what is taken over is what was compared.
TEST_F(DeltaTest, AnOldFileThatChangesMeanwhile) {
  for (const bool shifted : {false, true}) {
    SCOPED_TRACE(shifted);
    const std::string before = test_bytes(6 * kMiB, 5);
    const std::string now = shifted ? "x" + before : before;
    std::atomic<std::uint64_t> place{0};
    CopyCase copy;
    copy.tap = [&](net::Frame& frame, std::span<std::byte>) {
      if (frame.kind != net::FrameKind::probe) return true;
      const io::Fd old(::open((scratch / "to").c_str(), O_WRONLY | O_CLOEXEC));
      for (int i = 0; i < 20; ++i) {
        place = (place + 777'777) % before.size();
        EXPECT_EQ(::pwrite(old.get(), "changed", 7, static_cast<off_t>(place.load())), 7);
      }
      return true;
    };
    update(before, now, copy);
    EXPECT_GT(data_bytes, 0u);
  }
}

struct LikenessTest : DeltaTest {
  CopyResult mirror() {
    CopyCase copy;
    copy.sources = {scratch / "from/"};
    copy.destination = scratch / "to";
    copy.delta = true;
    const CopyResult result = run_copy(copy, heard);
    EXPECT_TRUE(result.complete());
    EXPECT_EQ(heard.text(), "");
    return result;
  }
};

// One that was moved is found by its size, and is not sent again; one that is only as large is.
TEST_F(LikenessTest, AMovedFile) {
  fs::create_directories(scratch / "from/a/b");
  fs::create_directories(scratch / "to/old");
  write_file(scratch / "from/a/b/moved", test_bytes(3 * kMiB, 1));
  write_file(scratch / "to/old/place", test_bytes(3 * kMiB, 1));
  write_file(scratch / "from/other", test_bytes(2 * kMiB, 3));
  write_file(scratch / "to/old/as-large", test_bytes(2 * kMiB, 4));
  const CopyResult result = mirror();
  EXPECT_EQ(result.source.kept_bytes, 3 * kMiB);
  EXPECT_EQ(result.source.bytes, 5 * kMiB);
  EXPECT_TRUE(content_of(scratch / "to/a/b/moved") == test_bytes(3 * kMiB, 1));
  EXPECT_TRUE(content_of(scratch / "to/other") == test_bytes(2 * kMiB, 3));
  EXPECT_TRUE(content_of(scratch / "to/old/place") == test_bytes(3 * kMiB, 1));
}

TEST_F(LikenessTest, TheOneOfTheSameTimeIsTakenAndNoLinkIsFollowed) {
  fs::create_directories(scratch / "from");
  fs::create_directories(scratch / "to");
  fs::create_directories(scratch / "outside");
  write_file(scratch / "from/new", test_bytes(2 * kMiB, 9));
  write_file(scratch / "outside/same", test_bytes(2 * kMiB, 9));
  fs::create_directory_symlink("../outside", scratch / "to/link");
  fs::create_symlink("../outside/same", scratch / "to/link-to-file");
  EXPECT_EQ(mirror().source.kept_bytes, 0u);
  fs::remove(scratch / "to/new");
  for (int i = 0; i < 20; ++i) write_file(scratch / ("to/x" + std::to_string(i)), test_bytes(2 * kMiB, i));
  const struct stat source = status_of(scratch / "from/new");
  const timespec times[2] = {source.st_mtim, source.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, (scratch / "to/x9").c_str(), times, 0), 0);
  EXPECT_EQ(mirror().source.kept_bytes, 2 * kMiB);
}

// --checksum: what is equal is left alone, but for its metadata; what differs goes as it always does.
TEST_F(LikenessTest, OnlyWhatDiffersIsTouched) {
  fs::create_directories(scratch / "from");
  fs::create_directories(scratch / "to");
  std::string changed = test_bytes(3 * kMiB, 2);
  write_file(scratch / "from/equal", test_bytes(3 * kMiB, 1));
  write_file(scratch / "to/equal", test_bytes(3 * kMiB, 1));
  write_file(scratch / "to/changed", changed);
  changed[2 * kMiB] ^= 1;
  write_file(scratch / "from/changed", changed);
  write_file(scratch / "from/longer", test_bytes(2 * kMiB + 1, 3));
  write_file(scratch / "to/longer", test_bytes(2 * kMiB, 3));
  write_file(scratch / "from/missing", test_bytes(kMiB, 4));
  const timespec old[2] = {{1'000'000'000, 7}, {1'000'000'000, 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (scratch / "from/equal").c_str(), old, 0), 0);
  const std::uint64_t equal = status_of(scratch / "to/equal").st_ino;
  const std::uint64_t other = status_of(scratch / "to/changed").st_ino;
  CopyCase copy;
  copy.sources = {scratch / "from/"};
  copy.destination = scratch / "to";
  copy.delta = true;
  copy.checksum = true;
  const CopyResult result = run_copy(copy, heard);
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(status_of(scratch / "to/equal").st_ino, equal);
  EXPECT_EQ(status_of(scratch / "to/equal").st_mtim.tv_sec, 1'000'000'000);
  EXPECT_NE(status_of(scratch / "to/changed").st_ino, other);
  for (const char* name : {"equal", "changed", "longer", "missing"}) {
    EXPECT_TRUE(content_of(scratch / (std::string("from/") + name)) ==
                content_of(scratch / (std::string("to/") + name)))
        << name;
  }
  EXPECT_EQ(result.source.files, 4u);
  EXPECT_EQ(result.source.bytes, 3 * kMiB + 3 * kMiB + 2 * kMiB + 1 + kMiB);
  EXPECT_GE(result.source.kept_bytes, 8 * kMiB - 3 * kBlockBytes);
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

// Two names of one old file are two files at the source, of which the mirror finds one equal in one run.
TEST_F(DeltaTest, InPlaceAnOldFileWithSeveralNamesIsReplaced) {
  const std::string before = test_bytes(2 * kMiB);
  std::string now = before;
  now[kMiB] ^= 1;
  for (const std::string& second : {test_bytes(kMiB, 4), before}) {
    SCOPED_TRACE(second == before ? "the second one is equal" : "both differ");
    for (const char* name : {"from", "to"}) {
      fs::remove_all(scratch / name);
      fs::create_directory(scratch / name);
    }
    write_file(scratch / "from/first", now);
    write_file(scratch / "from/second", second);
    write_file(scratch / "to/second", before);
    fs::create_hard_link(scratch / "to/second", scratch / "to/first");
    fs::create_hard_link(scratch / "to/second", scratch / "outside");
    const timespec times[2] = {{0, UTIME_OMIT}, {1'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (scratch / "from/second").c_str(), times, 0), 0);
    ASSERT_EQ(::utimensat(AT_FDCWD, (scratch / "to/second").c_str(), times, 0), 0);
    CopyCase copy;
    copy.sources = {scratch / "from/"};
    copy.destination = scratch / "to";
    copy.delta = copy.inplace = true;
    copy.sync.enabled = true;
    const CopyResult result = run_copy(copy, heard);
    EXPECT_TRUE(result.complete());
    EXPECT_EQ(heard.text(), "");
    EXPECT_TRUE(content_of(scratch / "to/first") == now);
    EXPECT_TRUE(content_of(scratch / "to/second") == second);
    EXPECT_TRUE(content_of(scratch / "outside") == before);
    EXPECT_GT(result.source.kept_bytes, kMiB) << "what is equal is taken over";
    fs::remove(scratch / "outside");
  }
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
  EachOnce damaged;
  copy.tap = [&](net::Frame& frame, std::span<std::byte> payload) {
    if (frame.kind == net::FrameKind::probe && damaged.is_new(frame)) payload[20] ^= std::byte{1};
    return true;
  };
  const CopyResult result = update(before, now, copy);
  EXPECT_EQ(result.source.resent_chunks, damaged.count());
  EXPECT_LE(data_bytes, kBlockBytes);
}

// Blocks that were taken over before a stream broke count once, whether their answer arrived or not.
TEST_F(DeltaTest, StreamsThatBreak) {
  std::mt19937 random(3);
  int lost = 0;
  for (int run = 0; run < 20; ++run) {
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
  EXPECT_GT(lost, 4);
}

}  // namespace
}  // namespace rdcp::tree
