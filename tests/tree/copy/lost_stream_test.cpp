// Streams that break in the middle of a copy: what was under way on them goes over the others.
#include <poll.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <random>

#include "tests/tree/copy/cut_wire.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

constexpr int kStreams = 3;

struct LostStreamTest : testing::Test {
  // Small and large files, one with holes, hard links, a symlink, directories with times of their own.
  void SetUp() override {
    fs::create_directories(scratch / "from/a/b/c");
    fs::create_directories(scratch / "from/empty");
    for (int i = 0; i < 60; ++i) {
      const std::string name = (i % 2 == 0 ? "from/a/small" : "from/a/b/small") + std::to_string(i);
      write_file(scratch / name, test_bytes(3000 + 37 * static_cast<std::size_t>(i), i));
    }
    for (int i = 0; i < 4; ++i) {
      write_file(scratch / ("from/a/large" + std::to_string(i)), test_bytes(300'000 + 70'001 * i, 100 + i));
    }
    const io::Fd sparse(::open((scratch / "from/sparse").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0640));
    ASSERT_EQ(::pwrite(sparse.get(), "begin", 5, 0), 5);
    ASSERT_EQ(::pwrite(sparse.get(), "end", 3, 1 << 20), 3);
    ASSERT_EQ(::ftruncate(sparse.get(), 3 << 20), 0);
    fs::create_hard_link(scratch / "from/a/large0", scratch / "from/a/b/c/link-to-large");
    fs::create_hard_link(scratch / "from/a/small0", scratch / "from/a/b/c/link-to-small");
    fs::create_symlink("a/large1", scratch / "from/symlink");
    for (const auto& entry : fs::recursive_directory_iterator(scratch / "from")) {
      const timespec old[2] = {{1'000'000'000, 7}, {1'000'000'000, 7}};
      ASSERT_EQ(::utimensat(AT_FDCWD, entry.path().c_str(), old, AT_SYMLINK_NOFOLLOW), 0);
    }
  }

  CopyCase copy_to(const std::string& destination) {
    CopyCase copy;
    copy.sources = {scratch / "from/"};
    copy.destination = scratch / destination;
    copy.streams = kStreams;
    return copy;
  }

  // TCP streams, cut after so many bytes to the target and to the source.
  struct Cut {
    std::uint64_t to_target = kNever;
    std::uint64_t to_source = kNever;
    CutWire::Ends ends = CutWire::Ends::both;
  };
  CopyResult run_cut(CopyCase copy, const std::vector<Cut>& cuts, Heard& said) {
    std::vector<std::unique_ptr<CutWire>> wires;
    copy.join = [&](int stream, const net::StreamShape& shape) {
      const Cut& cut = cuts[static_cast<std::size_t>(stream)];
      wires.push_back(std::make_unique<CutWire>(cut.to_target, cut.to_source, cut.ends));
      return wires.back()->ends(shape);
    };
    return run_copy(copy, said);
  }
  CopyResult run_cut(const CopyCase& copy, const std::vector<Cut>& cuts) {
    return run_cut(copy, cuts, heard);
  }

  static std::string description_of(const fs::path& path) {
    const struct stat status = status_of(path);
    std::string text = std::to_string(status.st_mode) + " " + std::to_string(status.st_nlink) + " " +
                       std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
    if (S_ISLNK(status.st_mode)) text += " " + fs::read_symlink(path).string();
    if (S_ISREG(status.st_mode)) text += " " + std::to_string(status.st_size);
    return text;
  }

  void expect_same_tree(const std::string& to) {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(scratch / "from")) {
      const fs::path there = fs::path(scratch / to) / entry.path().lexically_relative(scratch / "from");
      ASSERT_TRUE(fs::exists(fs::symlink_status(there))) << there;
      if (fs::is_directory(entry.symlink_status())) {
        EXPECT_EQ(status_of(there).st_mtim.tv_nsec, 7) << there;
      } else {
        EXPECT_EQ(description_of(there), description_of(entry.path())) << there;
        EXPECT_TRUE(content_of(there) == content_of(entry.path())) << there;
      }
      ++count;
    }
    const auto there = fs::recursive_directory_iterator(scratch / to);
    EXPECT_EQ(static_cast<std::size_t>(std::distance(fs::begin(there), fs::end(there))), count);
    EXPECT_LT(status_of(scratch / (to + "/sparse")).st_blocks * 512, 1 << 20);
  }

  // As if nothing had happened, but for the word on what was lost.
  void expect_whole(const CopyResult& result, const std::string& to) {
    EXPECT_TRUE(result.complete());
    EXPECT_EQ(heard.text(), "");
    EXPECT_EQ(result.source.files, 60u + 4 + 1);
    EXPECT_EQ(result.source.others, 3u);  // two hard links, a symlink
    EXPECT_EQ(result.source.bytes, bytes_in_all());
    expect_same_tree(to);
  }

  std::uint64_t bytes_in_all() {
    std::uint64_t bytes = 0;
    for (int i = 0; i < 60; ++i) bytes += 3000 + 37 * static_cast<std::uint64_t>(i);
    for (int i = 0; i < 4; ++i) bytes += 300'000 + 70'001 * static_cast<std::uint64_t>(i);
    return bytes + sparse_bytes_;
  }

  ScratchDirectory scratch;
  Heard heard;
  std::uint64_t sparse_bytes_ = 2 * 4096;  // one page for each end of its data
};

// Several of them, so that none takes long under a sanitizer.
struct LostStreamSeeds : LostStreamTest, testing::WithParamInterface<unsigned> {
  static constexpr int kRuns = 10;
  std::mt19937 random{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(, LostStreamSeeds, testing::Range(1u, 5u));

TEST_F(LostStreamTest, NothingIsLostWithoutALoss) {
  const CopyResult result = run_cut(copy_to("to"), std::vector<Cut>(kStreams));
  expect_whole(result, "to");
  EXPECT_TRUE(result.source.lost_streams.empty());
  EXPECT_TRUE(result.target.lost_streams.empty());
}

TEST_P(LostStreamSeeds, OneThatIsCutOnTheWayToTheTarget) {
  int lost = 0;
  for (int seed = 0; seed < kRuns; ++seed) {
    SCOPED_TRACE(seed);
    const std::string to = "to" + std::to_string(seed);
    CopyCase copy = copy_to(to);
    if (seed % 2 == 1) copy.cache = io::CacheMode::bypass;  // large files are everybody's then
    if (seed % 5 == 4) copy.ring = io::RingChoice::thread_pool;
    std::vector<Cut> cuts(kStreams);
    cuts[1].to_target = random() % 600'000;
    const CopyResult result = run_cut(copy, cuts);
    expect_whole(result, to);
    lost += static_cast<int>(result.source.lost_streams.size());
    fs::remove_all(scratch / to);
    if (HasFailure()) return;
  }
  EXPECT_GT(lost, 0);
}

TEST_P(LostStreamSeeds, OneWhoseAnswersAreNotHeard) {
  int lost = 0;
  for (int seed = 0; seed < kRuns; ++seed) {
    SCOPED_TRACE(seed);
    const std::string to = "to" + std::to_string(seed);
    CopyCase copy = copy_to(to);
    if (seed % 2 == 1) copy.cache = io::CacheMode::bypass;
    std::vector<Cut> cuts(kStreams);
    cuts[1].to_source = copy.depth * net::kFrameBytes + random() % 1000;
    const CopyResult result = run_cut(copy, cuts);
    expect_whole(result, to);
    lost += static_cast<int>(result.source.lost_streams.size());
    fs::remove_all(scratch / to);
    if (HasFailure()) return;
  }
  EXPECT_GT(lost, 0);
}

// A reset that reaches one end only: the other one would wait for ever for what it has sent, or is to get.
TEST_P(LostStreamSeeds, OneOfWhichOnlyOneEndKnows) {
  for (int seed = 0; seed < kRuns; ++seed) {
    SCOPED_TRACE(seed);
    const std::string to = "to" + std::to_string(seed);
    const CopyCase copy = copy_to(to);
    std::vector<Cut> cuts(kStreams);
    cuts[1].ends = seed % 2 == 0 ? CutWire::Ends::target : CutWire::Ends::source;
    if (seed % 4 < 2) {
      cuts[1].to_target = random() % 100'000;
    } else {
      cuts[1].to_source = copy.depth * net::kFrameBytes + random() % 500;
    }
    const CopyResult result = run_cut(copy, cuts);
    expect_whole(result, to);
    // A source that had sent the stream's end, after all answers, may have gone before it hears of a loss.
    EXPECT_LE(result.source.lost_streams.size(), result.target.lost_streams.size());
    fs::remove_all(scratch / to);
    if (HasFailure()) return;
  }
}

// The frame that ends a stream is not answered, so it is the target that knows that it did not come. By the
// time it has told so, the source has mostly gone.
TEST_F(LostStreamTest, OneOfWhichOnlyTheEndDoesNotArrive) {
  std::vector<Cut> cuts(kStreams);
  cuts[1] = {.to_target = kAllButTheEnd, .ends = CutWire::Ends::target};
  const CopyResult result = run_cut(copy_to("to"), cuts);
  expect_whole(result, "to");
  EXPECT_LE(result.source.lost_streams.size(), 1u);
  EXPECT_EQ(result.target.lost_streams.size(), 1u);
}

TEST_P(LostStreamSeeds, AllButOne) {
  int both = 0;
  for (int seed = 0; seed < kRuns; ++seed) {
    SCOPED_TRACE(seed);
    const std::string to = "to" + std::to_string(seed);
    std::vector<Cut> cuts(kStreams);
    const std::size_t survivor = static_cast<std::size_t>(seed) % kStreams;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      if (i == survivor) continue;
      (seed % 2 == 0 ? cuts[i].to_target : cuts[i].to_source) =
          500 + random() % (seed % 2 == 0 ? 300'000 : 600);
    }
    const CopyResult result = run_cut(copy_to(to), cuts);
    expect_whole(result, to);
    both += result.source.lost_streams.size() == kStreams - 1 ? 1 : 0;
    fs::remove_all(scratch / to);
    if (HasFailure()) return;
  }
  EXPECT_GT(both, 0);
}

TEST_P(LostStreamSeeds, AllOfThem) {
  for (int seed = 0; seed < kRuns; ++seed) {
    SCOPED_TRACE(seed);
    const std::string to = "to" + std::to_string(seed);
    std::vector<Cut> cuts(kStreams);
    for (Cut& cut : cuts) cut.to_target = 100 + random() % 300'000;
    Heard said;
    const CopyResult result = run_cut(copy_to(to), cuts, said);
    EXPECT_FALSE(result.complete());
    // Nothing went over the others.
    EXPECT_TRUE(result.source.lost_streams.empty());
    EXPECT_TRUE(result.target.lost_streams.empty());
    ASSERT_FALSE(said.problems().empty());
    EXPECT_EQ(said.problems()[0].kind, io::ErrorKind::connection) << said.text();
    EXPECT_TRUE(said.problems()[0].ends_run);
    if (!fs::exists(scratch / to)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(scratch / to)) {
      if (!fs::is_regular_file(entry.symlink_status())) continue;
      const fs::path wanted = fs::path(scratch / "from") / entry.path().lexically_relative(scratch / to);
      EXPECT_TRUE(content_of(entry.path()) == content_of(wanted)) << wanted;
    }
  }
}

// Reads a FIFO, which is open already, until its writer has closed it.
std::string all_of(int fifo) {
  std::string all;
  std::array<char, 1 << 16> some;
  pollfd more{fifo, POLLIN, 0};
  for (;;) {
    (void)::poll(&more, 1, -1);
    const ssize_t n = ::read(fifo, some.data(), some.size());
    if (n > 0) all.append(some.data(), static_cast<std::size_t>(n));
    if (n == 0) return all;
  }
}

// A pipe is written in order: chunks wait for those before them, and what it has got is not written twice.
struct IntoAPipe : LostStreamSeeds {
  void SetUp() override {
    LostStreamSeeds::SetUp();
    ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  }
  void expect_copied(const std::string& name, std::uint32_t chunk_bytes, const std::vector<Cut>& cuts) {
    CopyCase copy = copy_to("pipe");
    copy.sources = {name};
    copy.recursive = false;
    copy.chunk_bytes = chunk_bytes;
    const io::Fd reader(::open((scratch / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    std::string got;
    std::thread reading([&] { got = all_of(reader.get()); });
    const CopyResult result = run_cut(copy, cuts);
    reading.join();
    EXPECT_TRUE(result.complete());
    EXPECT_EQ(heard.text(), "");
    EXPECT_TRUE(got == content_of(name)) << got.size();
    lost += result.source.lost_streams.size();
  }
  // Less than one answer comes back.
  Cut no_answer() { return {.to_source = CopyCase().depth * net::kFrameBytes + random() % net::kFrameBytes}; }
  std::size_t lost = 0;
};
INSTANTIATE_TEST_SUITE_P(, IntoAPipe, testing::Range(1u, 5u));

TEST_P(IntoAPipe, ALargeFile) {
  for (int seed = 0; seed < kRuns; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<Cut> cuts(kStreams);
    for (std::size_t i = 1; i <= 1u + seed % 2; ++i) {
      cuts[i] = seed % 4 < 2 ? Cut{.to_target = random() % 100'000} : no_answer();
      if (seed % 8 > 5) cuts[i].to_source += random() % 1000;
    }
    expect_copied(scratch / "from/a/large3", io::kPageBytes, cuts);
    if (HasFailure()) return;
  }
  EXPECT_GT(lost, 0u);
}

TEST_P(IntoAPipe, ASmallFile) {
  write_file(scratch / "small", test_bytes(2000));
  for (int seed = 0; seed < 2 * kRuns; ++seed) {
    SCOPED_TRACE(seed);
    // The last one to start stays whole: a worker that starts first may have sent all before the others
    // begin.
    expect_copied(scratch / "small", 1 << 16, {no_answer(), no_answer(), {}});
    if (HasFailure()) return;
  }
  EXPECT_GT(lost, 0u);
}

// Local copies: the kernel's copies are given back as well, whether the filesystem can make them or not.
TEST_F(LostStreamTest, AKernelCopyUnderWay) {
  for (int cut_after = 0; cut_after < 12; ++cut_after) {
    SCOPED_TRACE(cut_after);
    const std::string to = "to" + std::to_string(cut_after);
    CopyCase copy = copy_to(to);
    copy.kernel_copies = true;
    std::atomic<int> left{cut_after};
    copy.join = [&](int stream, const net::StreamShape& shape) {
      net::MemoryTap tap;
      if (stream == 1) tap = [&](net::Frame&, std::span<std::byte>) { return left-- > 0; };
      return join_in_memory(shape, tap);
    };
    const CopyResult result = run_copy(copy, heard);
    EXPECT_TRUE(result.complete());
    EXPECT_EQ(heard.text(), "");
    expect_same_tree(to);
    if (HasFailure()) return;
  }
}

// Bytes from a pipe cannot be read again.
TEST_F(LostStreamTest, APipesBytesUnderWayEndTheRun) {
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  std::thread writing([&] { write_file(scratch / "pipe", test_bytes(20'000)); });
  CopyCase copy;
  copy.sources = {scratch / "pipe"};
  copy.destination = scratch / "to";
  copy.recursive = false;
  copy.tap = [](net::Frame& frame, std::span<std::byte>) { return frame.kind != net::FrameKind::data; };
  EXPECT_FALSE(run_copy(copy, heard).complete());
  writing.join();
  ASSERT_EQ(heard.problems().size(), 1u) << heard.text();
  EXPECT_EQ(heard.problems()[0].kind, io::ErrorKind::connection);
  EXPECT_FALSE(fs::exists(scratch / "to"));
}

// A file that cannot be read is told once, though its batch is packed twice.
TEST_F(LostStreamTest, NothingIsToldTwice) {
  fs::create_directory(scratch / "odd");
  for (int i = 0; i < 5; ++i) write_file(scratch / ("odd/file" + std::to_string(i)), test_bytes(100, i));
  ASSERT_EQ(::chmod((scratch / "odd/file2").c_str(), 0), 0);
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  fs::create_directory(scratch / "to");
  scratch.give_to_scoped_user();
  scratch.give_to_scoped_user("to");
  CopyCase copy = copy_to("to");
  copy.sources = {scratch / "odd/"};
  copy.streams = 2;
  std::atomic<int> archives{0};
  copy.tap = [&](net::Frame& frame, std::span<std::byte>) {
    return frame.kind != net::FrameKind::archive || archives++ > 0;
  };
  CopyResult result;
  {
    const ScopedUser user;
    result = run_copy(copy, heard);
  }
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(result.source.lost_streams.size(), 1u);
  EXPECT_EQ(heard.problems().size(), 1u) << heard.text();
  EXPECT_EQ(names_in(scratch / "to").size(), 4u);
}

}  // namespace
}  // namespace rdcp::tree
