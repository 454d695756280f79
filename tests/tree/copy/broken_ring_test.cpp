// A ring that breaks in the middle of a copy within one process: the run ends, and nothing that the other
// side still uses goes with it. Of use with a sanitizer most of all.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "tests/tree/copy/copy_fixture.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

// All io_uring descriptors of this process become something else. How many there were.
int break_rings() {
  int broken = 0;
  const io::Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry.path(), gone) != "anon_inode:[io_uring]") continue;
    ::dup3(nothing.get(), std::stoi(entry.path().filename()), O_CLOEXEC);
    ++broken;
  }
  return broken;
}

struct BrokenRingTest : testing::Test {
  void SetUp() override {
    if (!io::make_ring(io::RingChoice::io_uring, 8)) GTEST_SKIP() << "no io_uring here";
    write_file(scratch / "from", test_bytes(4 << 20));
  }
  // At the target, with a chunk that still lies in the source's arena.
  void break_at(int chunk) {
    SCOPED_TRACE(chunk);
    Heard heard;
    CopyCase copy;
    copy.sources = {scratch / "from"};
    copy.destination = scratch / "to";
    copy.cache = io::CacheMode::bypass;  // its reads and writes are the ring's
    std::atomic<int> left{chunk};
    std::atomic<int> broken{0};
    copy.tap = [&](net::Frame& frame, std::span<std::byte>) {
      if (frame.kind == net::FrameKind::data && left-- == 0) broken = break_rings();
      return true;
    };
    EXPECT_FALSE(run_copy(copy, heard).complete());
    EXPECT_GT(broken, 0);
    EXPECT_FALSE(heard.problems().empty());
    EXPECT_FALSE(fs::exists(scratch / "to"));
  }
  ScratchDirectory scratch;
};

TEST_F(BrokenRingTest, WithChunksUnderWay) {
  for (const int chunk : {0, 3, 20}) break_at(chunk);
}

}  // namespace
}  // namespace rdcp::tree
