// Source and target together, over memory streams that can be tampered with.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "tests/io/refuse_call.h"
#include "tests/tree/copy/copy_fixture.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

struct CopyTest : testing::Test {
  ScratchDirectory scratch;
  Heard heard;
  CopyCase copy_of(const std::string& source, const std::string& destination) {
    CopyCase copy;
    copy.sources = {scratch / source};
    copy.destination = scratch / destination;
    return copy;
  }
};

TEST_F(CopyTest, EverySizeAroundAChunkArrivesWhole) {
  constexpr std::size_t kChunk = 64 << 10;
  fs::create_directory(scratch / "from");
  std::size_t count = 0;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{4097}, kChunk / 4,
        kChunk / 4 + 1, kChunk - 1, kChunk, kChunk + 1, 5 * kChunk + 77}) {
    write_file(scratch / ("from/f" + std::to_string(size)), test_bytes(size, size));
    ++count;
  }
  for (const io::RingChoice ring : {io::RingChoice::automatic, io::RingChoice::thread_pool}) {
    CopyCase copy = copy_of("from/", ring == io::RingChoice::automatic ? "to1" : "to2");
    copy.ring = ring;
    const CopyResult result = run_copy(copy, heard);
    EXPECT_TRUE(result.complete());
    EXPECT_EQ(heard.text(), "");
    EXPECT_EQ(result.source.files, count);
    for (const auto& entry : fs::directory_iterator(scratch / "from")) {
      EXPECT_EQ(content_of(copy.destination + "/" + entry.path().filename().string()),
                content_of(entry.path()));
    }
  }
}

TEST_F(CopyTest, ADirectoryGetsItsOwnTimesAfterAllThatIsInIt) {
  fs::create_directories(scratch / "from/a/b");
  for (int i = 0; i < 700; ++i) write_file(scratch / ("from/a/b/f" + std::to_string(i)), test_bytes(300));
  write_file(scratch / "from/a/large", test_bytes(500'000));
  const timespec old[2] = {{1'000'000'000, 7}, {1'000'000'000, 7}};
  for (const char* name : {"from/a/b", "from/a", "from"}) {
    ASSERT_EQ(::utimensat(AT_FDCWD, (scratch / name).c_str(), old, 0), 0);
    ASSERT_EQ(::chmod((scratch / name).c_str(), 0555), 0);
  }
  EXPECT_TRUE(run_copy(copy_of("from", "to"), heard).complete());
  EXPECT_EQ(heard.text(), "");
  for (const char* name : {"to/a/b", "to/a", "to"}) {
    EXPECT_EQ(status_of(scratch / name).st_mtim.tv_sec, 1'000'000'000) << name;
    EXPECT_EQ(status_of(scratch / name).st_mtim.tv_nsec, 7) << name;
    EXPECT_EQ(status_of(scratch / name).st_mode & 07777, 0555u) << name;
  }
  EXPECT_EQ(names_in(scratch / "to/a/b").size(), 700u);
}

TEST_F(CopyTest, HardLinksAreMadeOnce) {
  fs::create_directories(scratch / "from/x");
  write_file(scratch / "from/one", test_bytes(200'000));
  fs::create_hard_link(scratch / "from/one", scratch / "from/x/two");
  fs::create_hard_link(scratch / "from/one", scratch / "from/x/three");
  EXPECT_TRUE(run_copy(copy_of("from", "to"), heard).complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(status_of(scratch / "to/one").st_ino, status_of(scratch / "to/x/two").st_ino);
  EXPECT_EQ(status_of(scratch / "to/one").st_nlink, 3u);
}

TEST_F(CopyTest, HolesStayHoles) {
  const int fd = ::open((scratch / "sparse").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  ASSERT_EQ(::pwrite(fd, "begin", 5, 0), 5);
  ASSERT_EQ(::pwrite(fd, "end", 3, 8 << 20), 3);
  ASSERT_EQ(::ftruncate(fd, 16 << 20), 0);
  ::close(fd);
  CopyCase copy = copy_of("sparse", "to");
  copy.recursive = false;
  EXPECT_TRUE(run_copy(copy, heard).complete());
  EXPECT_EQ(content_of(scratch / "to"), content_of(scratch / "sparse"));
  EXPECT_LT(status_of(scratch / "to").st_blocks * 512, 1 << 20);
}

TEST_F(CopyTest, KernelCopiesNeedNoChunks) {
  write_file(scratch / "file", test_bytes(3'000'001));
  CopyCase copy = copy_of("file", "to");
  copy.recursive = false;
  copy.kernel_copies = true;
  std::atomic<int> data_frames{0};
  copy.tap = [&](net::Frame& frame, std::span<std::byte>) {
    if (frame.kind == net::FrameKind::data) ++data_frames;
    return true;
  };
  EXPECT_TRUE(run_copy(copy, heard).complete());
  EXPECT_EQ(content_of(scratch / "to"), content_of(scratch / "file"));
  EXPECT_EQ(data_frames, 0);
}

TEST_F(CopyTest, AKernelThatCannotCopyIsHelpedWithChunks) {
  // /proc files and the like cannot be cloned; from one filesystem type to another copy_file_range says
  // EXDEV.
  write_file("/dev/shm/rdcp-copy-test", test_bytes(700'000));
  CopyCase copy;
  copy.sources = {"/dev/shm/rdcp-copy-test"};
  copy.destination = scratch / "to";
  copy.recursive = false;
  copy.kernel_copies = true;
  EXPECT_TRUE(run_copy(copy, heard).complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(content_of(scratch / "to"), test_bytes(700'000));
  ::unlink("/dev/shm/rdcp-copy-test");
}

TEST_F(CopyTest, ADamagedChunkIsSentAgain) {
  fs::create_directory(scratch / "from");
  write_file(scratch / "from/large", test_bytes(1'000'000));
  for (int i = 0; i < 20; ++i) write_file(scratch / ("from/small" + std::to_string(i)), test_bytes(2000, i));
  CopyCase copy = copy_of("from/", "to");
  EachOnce once;
  copy.tap = [&](net::Frame& frame, std::span<std::byte> payload) {
    if (!payload.empty() && once.is_new(frame)) payload[payload.size() / 2] ^= std::byte{4};
    return true;
  };
  const CopyResult result = run_copy(copy, heard);
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_GT(result.source.resent_chunks, 0u);
  EXPECT_EQ(content_of(scratch / "to/large"), content_of(scratch / "from/large"));
  EXPECT_EQ(content_of(scratch / "to/small7"), content_of(scratch / "from/small7"));
}

TEST_F(CopyTest, ADamagedChunkOutOfAPipeIsSentAgain) {
  const std::string content = test_bytes(700'000);
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  std::thread writing([&] { write_file(scratch / "pipe", content); });
  CopyCase copy = copy_of("pipe", "to");
  copy.recursive = false;
  copy.streams = 1;
  EachOnce once;
  copy.tap = [&](net::Frame& frame, std::span<std::byte> payload) {
    if (frame.kind == net::FrameKind::data && once.is_new(frame)) payload[9] ^= std::byte{1};
    return true;
  };
  const CopyResult result = run_copy(copy, heard);
  writing.join();
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_GT(result.source.resent_chunks, 0u);
  EXPECT_TRUE(content_of(scratch / "to") == content);
}

// By whichever stream they come, bytes are written in their order.
TEST_F(CopyTest, APipeIntoAPipeOverSeveralStreams) {
  for (const char* name : {"in", "out"}) ASSERT_EQ(::mkfifo((scratch / name).c_str(), 0600), 0);
  for (std::uint16_t streams = 1; streams <= 4; ++streams) {
    SCOPED_TRACE(streams);
    const std::string content = test_bytes(3'000'000 + streams, streams);
    const io::Fd out(::open((scratch / "out").c_str(), O_RDWR | O_CLOEXEC));  // waits for nobody
    std::string found(content.size(), '\0');
    std::thread writing([&] { write_file(scratch / "in", content); });
    std::thread reading([&] {
      std::size_t at = 0;
      ssize_t n = 1;
      while (n > 0 && at < found.size()) {
        n = ::read(out.get(), found.data() + at, found.size() - at);
        at += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
      }
    });
    CopyCase copy = copy_of("in", "out");
    copy.recursive = false;
    copy.streams = streams;
    const CopyResult result = run_copy(copy, heard);
    writing.join();
    reading.join();
    EXPECT_TRUE(result.complete());
    EXPECT_EQ(heard.text(), "");
    EXPECT_TRUE(found == content);
  }
}

TEST_F(CopyTest, AChunkThatIsAlwaysDamagedEndsTheRun) {
  write_file(scratch / "file", test_bytes(1'000'000));
  write_file(scratch / "to", "what was there before");
  CopyCase copy = copy_of("file", "to");
  copy.recursive = false;
  copy.tap = [](net::Frame& frame, std::span<std::byte> payload) {
    if (frame.kind == net::FrameKind::data) payload[0] ^= std::byte{1};
    return true;
  };
  EXPECT_FALSE(run_copy(copy, heard).complete());
  ASSERT_FALSE(heard.problems().empty());
  EXPECT_EQ(heard.problems()[0].kind, io::ErrorKind::digest);
  EXPECT_EQ(content_of(scratch / "to"), "what was there before");
  EXPECT_EQ(names_in(scratch.path()), (std::vector<std::string>{"file", "to"}));
}

TEST_F(CopyTest, ACutConnectionLeavesTheTargetAsItWas) {
  fs::create_directory(scratch / "from");
  for (int i = 0; i < 6; ++i) write_file(scratch / ("from/f" + std::to_string(i)), test_bytes(400'000, i));
  for (int cut_after = 0; cut_after < 40; cut_after += 3) {
    const std::string to = "to" + std::to_string(cut_after);
    CopyCase copy = copy_of("from/", to);
    std::atomic<int> left{cut_after};
    copy.tap = [&](net::Frame&, std::span<std::byte>) { return left-- > 0; };
    Heard said;
    EXPECT_FALSE(run_copy(copy, said).complete());
    ASSERT_FALSE(said.problems().empty());
    EXPECT_EQ(said.problems()[0].kind, io::ErrorKind::connection) << said.text();
    if (!fs::exists(scratch / to)) continue;
    for (const std::string& name : names_in(scratch / to)) {
      EXPECT_EQ(content_of(scratch / (to + "/" + name)), content_of(scratch / ("from/" + name))) << cut_after;
    }
  }
}

TEST_F(CopyTest, AnUnreadableSourceIsNamedAndTheRestIsCopied) {
  fs::create_directories(scratch / "from/closed");
  write_file(scratch / "from/good", "good");
  write_file(scratch / "from/bad", "bad");
  ASSERT_EQ(::chmod((scratch / "from/bad").c_str(), 0), 0);
  ASSERT_EQ(::chmod((scratch / "from/closed").c_str(), 0), 0);
  fs::create_directory(scratch / "to");
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  scratch.give_to_scoped_user("to");
  {
    ScopedUser user;
    run_copy(copy_of("from/", "to"), heard);
  }
  EXPECT_NE(heard.text().find("from/bad: Permission denied"), std::string::npos) << heard.text();
  EXPECT_NE(heard.text().find("from/closed: Permission denied"), std::string::npos) << heard.text();
  EXPECT_EQ(content_of(scratch / "to/good"), "good");
}

// Whenever it happens: what the walker has found is opened later, and then leads somewhere else.
TEST_F(CopyTest, AParentSwappedForASymlinkIsNotReadThrough) {
  const std::string secret = test_bytes(300'000, 99);
  fs::create_directories(scratch / "outside");
  for (const char* name : {"outside/small", "outside/big"}) write_file(scratch / name, secret);
  for (int swap_at = 0; swap_at < 12; ++swap_at) {
    const std::string from = "from" + std::to_string(swap_at);
    const std::string to = "to" + std::to_string(swap_at);
    fs::create_directories(scratch / (from + "/sub"));
    write_file(scratch / (from + "/first"), test_bytes(300'000));
    write_file(scratch / (from + "/sub/big"), test_bytes(300'000));
    write_file(scratch / (from + "/sub/small"), "small");
    CopyCase copy = copy_of(from + "/", to);
    copy.streams = 1;
    copy.depth = 1;
    int left = swap_at;
    copy.tap = [&](net::Frame&, std::span<std::byte>) {
      if (left-- != 0) return true;
      fs::rename(scratch / (from + "/sub"), scratch / (from + "/was"));
      fs::create_directory_symlink(scratch / "outside", scratch / (from + "/sub"));
      return true;
    };
    Heard said;
    run_copy(copy, said);
    for (const auto& found : fs::recursive_directory_iterator(scratch / to)) {
      const bool leaked = found.is_regular_file() && content_of(found.path()) == secret;
      EXPECT_FALSE(leaked) << found.path();
    }
  }
}

TEST_F(CopyTest, AManyLevelledTreeIsFinishedUpToItsTop) {
  std::string path = "from";
  for (int i = 0; i < 150; ++i) path += "/d";
  fs::create_directories(scratch / path);
  write_file(scratch / (path + "/leaf"), "leaf");
  const timespec old[2] = {{5, 0}, {5, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (scratch / "from").c_str(), old, 0), 0);
  EXPECT_TRUE(run_copy(copy_of("from", "to"), heard).complete());
  EXPECT_EQ(content_of(scratch / ("to" + path.substr(4) + "/leaf")), "leaf");
  EXPECT_EQ(status_of(scratch / "to").st_mtim.tv_sec, 5);
}

TEST_F(CopyTest, XattrsThatThereIsNoRoomForAreToldForEachFile) {
  fs::create_directory(scratch / "from");
  for (const char* name : {"from/a", "from/b"}) {
    write_file(scratch / name, name);
    if (::setxattr((scratch / name).c_str(), "user.x", "1", 1, 0) != 0) GTEST_SKIP() << "no xattrs here";
  }
  CopyResult result;
  std::thread([&] {
    ASSERT_TRUE(io::refuse_call(SYS_fsetxattr, ENOSPC));
    result = run_copy(copy_of("from", "to"), heard);
  }).join();
  EXPECT_TRUE(result.complete());
  EXPECT_TRUE(result.target.losses.empty());
  ASSERT_EQ(heard.problems().size(), 2u) << heard.text();
  for (const char* name : {"/to/a", "/to/b"}) {
    EXPECT_NE(heard.text().find(name), std::string::npos) << heard.text();
  }
  EXPECT_EQ(content_of(scratch / "to/b"), "from/b");
}

// As a user without privileges has them: their own, for reading only.
TEST_F(CopyTest, AMirrorRepairsTheXattrsOfAReadOnlyFile) {
  scratch.give_to_scoped_user();
  const ScopedUser user;
  fs::create_directory(scratch / "from");
  fs::create_directory(scratch / "to");
  for (const char* name : {"from/file", "to/file"}) {
    write_file(scratch / name, "content");
    const timespec times[2] = {{5, 0}, {5, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (scratch / name).c_str(), times, 0), 0);
  }
  if (::setxattr((scratch / "from/file").c_str(), "user.x", "1", 1, 0) != 0) GTEST_SKIP() << "no xattrs here";
  for (const char* name : {"from/file", "to/file"}) ASSERT_EQ(::chmod((scratch / name).c_str(), 0444), 0);
  CopyCase copy = copy_of("from/", "to");
  copy.sync.enabled = true;
  copy.sync.mirror = true;
  const CopyResult result = run_copy(copy, heard);
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_TRUE(result.target.losses.empty());
  char value = 0;
  EXPECT_EQ(::getxattr((scratch / "to/file").c_str(), "user.x", &value, 1), 1);
  EXPECT_EQ(status_of(scratch / "to/file").st_mode & 07777, 0444u);
}

TEST_F(CopyTest, ARateIsKept) {
  write_file(scratch / "file", test_bytes(512 << 10));
  CopyCase copy = copy_of("file", "to");
  copy.recursive = false;
  copy.bytes_per_second = 4 << 20;
  const auto before = io::Clock::now();
  EXPECT_TRUE(run_copy(copy, heard).complete());
  // A lower bound only: seven chunks of 64 KiB must have waited for their turn.
  EXPECT_GE(io::Clock::now() - before, std::chrono::milliseconds(100));
}

}  // namespace
}  // namespace rdcp::tree
