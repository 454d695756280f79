// Transfers, on both backends.
#include "io/ring.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "io/arena.h"
#include "tests/io/ring_fixture.h"
#include "tests/io/temp_file.h"

namespace rdcp::io {
namespace {

INSTANTIATE_TEST_SUITE_P(Backend, RingTest, testing::Values(RingChoice::io_uring, RingChoice::thread_pool),
                         backend_name);

TEST_P(RingTest, ReadsAndWritesAtOffsets) {
  const Fd file = temp_file("/tmp");
  const std::vector<std::byte> bytes = test_bytes(100'000);
  const IoResult written = write({.fd = file.get()}, bytes, 5000);
  EXPECT_EQ(written.bytes, bytes.size());
  EXPECT_EQ(written.error, 0);
  std::vector<std::byte> back(bytes.size());
  const IoResult got = read({.fd = file.get()}, back, 5000);
  EXPECT_EQ(got.bytes, bytes.size());
  EXPECT_EQ(got.error, 0);
  EXPECT_EQ(back, bytes);
}

TEST_P(RingTest, EndOfFileGivesFewerBytesAndNoError) {
  const Fd file = temp_file("/tmp");
  ASSERT_TRUE(put(file.get(), test_bytes(1000)));
  std::vector<std::byte> into(4096);
  const IoResult across = read({.fd = file.get()}, into, 900);
  EXPECT_EQ(across.bytes, 100U);
  EXPECT_EQ(across.error, 0);
  const IoResult past = read({.fd = file.get()}, into, 1000);
  EXPECT_EQ(past.bytes, 0U);
  EXPECT_EQ(past.error, 0);
}

TEST_P(RingTest, NothingIsDoneAtOnce) {
  Operation operation = ring_->write({.fd = -1}, {}, 0);
  EXPECT_TRUE(operation.await_ready());
}

TEST_P(RingTest, ReportsTheErrno) {
  std::vector<std::byte> bytes(10);
  EXPECT_EQ(read({.fd = -1}, bytes, 0).error, EBADF);
  const Fd read_only(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(write({.fd = read_only.get()}, bytes, 0).error, EBADF);
  const Fd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(read({.fd = directory.get()}, bytes, 0).error, EISDIR);
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(write({.fd = full.get()}, bytes, 0).error, ENOSPC);
}

// Each piece arrives only when the one before it has been taken out of the pipe, so every read is short.
TEST_P(RingTest, ShortReadsAreFinishedInside) {
  Pipe pipe;
  const std::vector<std::byte> bytes = test_bytes(10);
  std::vector<std::byte> into(10);
  IoResult result;
  Operation operation = ring_->read({.fd = pipe.out.get()}, into, kNoOffset);
  Task reader = [](Operation& read, IoResult& into) -> Task { into = co_await read; }(operation, result);
  reader.start();
  for (std::size_t piece = 0; piece < bytes.size(); ++piece) {
    EXPECT_FALSE(reader.done());
    ASSERT_EQ(::write(pipe.in.get(), &bytes[piece], 1), 1);
    pollfd unread = {pipe.out.get(), POLLIN, 0};
    while (::poll(&unread, 1, 0) == 1) ASSERT_TRUE(ring_->run_once(milliseconds(10)).ok());
  }
  while (!reader.done()) ASSERT_TRUE(ring_->run_once(milliseconds(10)).ok());
  EXPECT_EQ(result.bytes, bytes.size());
  EXPECT_EQ(into, bytes);
}

TEST_P(RingTest, ALiveReadTakesWhatIsThere) {
  Pipe pipe;
  const std::vector<std::byte> bytes = test_bytes(3000);
  std::vector<std::byte> into(10'000);
  const RingFile live{.fd = pipe.out.get(), .live = true};
  ASSERT_EQ(::write(pipe.in.get(), bytes.data(), 2000), 2000);
  const IoResult first = read(live, into, kNoOffset);
  EXPECT_EQ(first.bytes, 2000U);
  EXPECT_FALSE(first.at_end);
  ASSERT_EQ(::write(pipe.in.get(), bytes.data() + 2000, 1000), 1000);
  pipe.in.reset();
  const IoResult rest = read(live, std::span(into).subspan(2000), kNoOffset);
  EXPECT_EQ(rest.bytes, 1000U);
  EXPECT_TRUE(rest.at_end);
  into.resize(3000);
  EXPECT_EQ(into, bytes);
}

TEST_P(RingTest, ALiveReadOfAFileGoesToItsEnd) {
  const Fd file = temp_file("/tmp");
  ASSERT_TRUE(put(file.get(), test_bytes(5000)));
  ::lseek(file.get(), 0, SEEK_SET);
  std::vector<std::byte> into(10'000);
  const IoResult all = read({.fd = file.get(), .live = true}, into, kNoOffset);
  EXPECT_EQ(all.bytes, 5000U);
  EXPECT_TRUE(all.at_end);
}

TEST_P(RingTest, PipeEndsWithTheOtherEnd) {
  Pipe pipe;
  ASSERT_EQ(::write(pipe.in.get(), "abc", 3), 3);
  pipe.in.reset();
  std::vector<std::byte> into(10);
  const IoResult result = read({.fd = pipe.out.get()}, into, kNoOffset);
  EXPECT_EQ(result.bytes, 3U);
  EXPECT_EQ(result.error, 0);
}

// A write that a pipe cannot hold and the read that empties it, for one thread.
void send_through(Ring& ring, int in, int out) {
  const std::vector<std::byte> bytes = test_bytes(1 << 20);
  std::vector<std::byte> into(bytes.size());
  IoResult written;
  IoResult got;
  int running = 0;
  Operation write = ring.write({.fd = in}, bytes, kNoOffset);
  Operation read = ring.read({.fd = out}, into, kNoOffset);
  Task writer = move_bytes(write, written, running);
  Task reader = move_bytes(read, got, running);
  writer.start();
  reader.start();
  while (running > 0) ASSERT_TRUE(ring.run_once(std::chrono::seconds(1)).ok());
  EXPECT_EQ(written.bytes, bytes.size());
  EXPECT_EQ(written.error, 0);
  EXPECT_EQ(got.bytes, bytes.size());
  EXPECT_EQ(into, bytes);
}

TEST_P(RingTest, WritesMoreThanAPipeHolds) {
  const Pipe pipe;
  send_through(*ring_, pipe.in.get(), pipe.out.get());
}

TEST_P(RingTest, WaitsForDescriptorsThatAreNonblocking) {
  const Pipe pipe;
  ASSERT_EQ(::fcntl(pipe.in.get(), F_SETFL, O_NONBLOCK), 0);
  ASSERT_EQ(::fcntl(pipe.out.get(), F_SETFL, O_NONBLOCK), 0);
  send_through(*ring_, pipe.in.get(), pipe.out.get());
}

TEST_P(RingTest, WritesMoreThanASocketHolds) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Fd in(ends[0]);
  const Fd out(ends[1]);
  send_through(*ring_, in.get(), out.get());
}

Task copy_piece(Ring& ring, RingFile from, RingFile to, std::uint64_t offset, std::span<std::byte> slot,
                int& failures, int& running) {
  ++running;
  const IoResult got = co_await ring.read(from, slot, offset);
  if (got.bytes != slot.size()) ++failures;
  const IoResult written = co_await ring.write(to, slot, offset);
  if (written.bytes != slot.size()) ++failures;
  --running;
}

TEST_P(RingTest, TakesManyMoreOperationsThanItsDepth) {
  constexpr std::size_t kPieces = 50 * kDepth;
  constexpr std::size_t kPieceBytes = 10'000;
  const Fd from = temp_file("/tmp");
  const Fd to = temp_file("/tmp");
  const std::vector<std::byte> bytes = test_bytes(kPieces * kPieceBytes);
  ASSERT_TRUE(put(from.get(), bytes));
  std::vector<std::byte> slots(bytes.size());
  std::vector<Task> tasks;
  int failures = 0;
  int running = 0;
  for (std::size_t i = 0; i < kPieces; ++i) {
    const std::uint64_t offset = i * kPieceBytes;
    tasks.push_back(copy_piece(*ring_, {.fd = from.get()}, {.fd = to.get()}, offset,
                               std::span(slots).subspan(offset, kPieceBytes), failures, running));
    tasks.back().start();
  }
  while (running > 0) ASSERT_TRUE(ring_->run_once(std::chrono::seconds(1)).ok());
  EXPECT_EQ(failures, 0);
  std::vector<std::byte> back(bytes.size());
  ASSERT_EQ(::pread(to.get(), back.data(), back.size(), 0), static_cast<ssize_t>(back.size()));
  EXPECT_EQ(back, bytes);
}

TEST_P(RingTest, AttachedFilesStayOpenUntilDetached) {
  Fd file = temp_file("/tmp");
  const std::vector<std::byte> bytes = test_bytes(5000);
  ASSERT_TRUE(put(file.get(), bytes));
  const int index = ring_->attach(file.get());
  if (index < 0) {
    EXPECT_EQ(GetParam(), RingChoice::thread_pool);
    GTEST_SKIP() << "no file table";
  }
  const RingFile attached = {.fd = file.get(), .index = index};
  file.reset();
  std::vector<std::byte> back(bytes.size());
  EXPECT_EQ(read(attached, back, 0).bytes, bytes.size());
  EXPECT_EQ(back, bytes);
  ring_->detach(index);
  EXPECT_EQ(read(attached, back, 0).error, EBADF);
}

TEST_P(RingTest, AFullFileTableIsNoError) {
  const Fd file = temp_file("/tmp");
  std::vector<int> indexes;
  for (int index = ring_->attach(file.get()); index >= 0; index = ring_->attach(file.get())) {
    indexes.push_back(index);
    ASSERT_LE(indexes.size(), 100'000U);
  }
  std::vector<int> unique = indexes;
  std::sort(unique.begin(), unique.end());
  EXPECT_EQ(std::unique(unique.begin(), unique.end()), unique.end());
  if (indexes.empty()) GTEST_SKIP() << "no file table";
  ring_->detach(indexes.back());
  EXPECT_EQ(ring_->attach(file.get()), indexes.back());
}

TEST_P(RingTest, ReadsAndWritesWithinARegisteredArena) {
  Result<Arena> arena = Arena::create(4, 64 << 10);
  ASSERT_TRUE(arena.ok());
  ring_->register_arena(arena->all());
  const Fd file = temp_file("/tmp");
  const std::vector<std::byte> bytes = test_bytes(arena->all().size());
  std::ranges::copy(bytes, arena->all().begin());
  EXPECT_EQ(write({.fd = file.get()}, arena->all(), 0).bytes, bytes.size());
  std::ranges::fill(arena->all(), std::byte{0});
  // From the second slot on, to see that addresses, not indexes, count; the last read touches the very end.
  for (std::size_t i = 1; i < arena->slot_count(); ++i) {
    EXPECT_EQ(read({.fd = file.get()}, arena->slot(i), i * arena->slot_bytes()).bytes, arena->slot_bytes());
    EXPECT_TRUE(
        std::ranges::equal(arena->slot(i), std::span(bytes).subspan(i * arena->slot_bytes(), 64 << 10)));
  }
  std::vector<std::byte> elsewhere(1000);
  EXPECT_EQ(read({.fd = file.get()}, elsewhere, 0).bytes, elsewhere.size());
  EXPECT_TRUE(std::ranges::equal(elsewhere, std::span(bytes).first(1000)));
}

TEST_P(RingTest, ResidentFilesAreReadWithoutSuspending) {
  const Fd file = temp_file("/tmp");
  const std::vector<std::byte> bytes = test_bytes(10'000);
  ASSERT_TRUE(put(file.get(), bytes));
  std::vector<std::byte> into(20'000);
  Operation inside = ring_->read({.fd = file.get(), .resident = true}, std::span(into).first(1000), 100);
  ASSERT_TRUE(inside.await_ready());
  EXPECT_EQ(inside.await_resume().bytes, 1000U);
  EXPECT_TRUE(std::ranges::equal(std::span(into).first(1000), std::span(bytes).subspan(100, 1000)));
  Operation past_the_end = ring_->read({.fd = file.get(), .resident = true}, into, 0);
  ASSERT_TRUE(past_the_end.await_ready());
  EXPECT_EQ(past_the_end.await_resume().bytes, bytes.size());
  Operation failing = ring_->read({.fd = -1, .resident = true}, into, 0);
  ASSERT_TRUE(failing.await_ready());
  EXPECT_EQ(failing.await_resume().error, EBADF);
}

TEST_P(RingTest, ReadsAndWritesPastThePageCache) {
  const std::string directory = disk_directory();
  const Fd file = directory.empty() ? Fd() : temp_file(directory);
  if (!file || ::fcntl(file.get(), F_SETFL, O_DIRECT) != 0)
    GTEST_SKIP() << "no filesystem that takes O_DIRECT";
  Result<Arena> arena = Arena::create(2, 1 << 20);
  ASSERT_TRUE(arena.ok());
  ring_->offer_arena(arena->all());  // registered by the first write
  const std::vector<std::byte> bytes = test_bytes(arena->slot_bytes());
  std::ranges::copy(bytes, arena->slot(0).begin());
  const RingFile direct = {.fd = file.get(), .direct = true};
  ASSERT_EQ(write(direct, arena->slot(0), 0).bytes, bytes.size());
  for (const std::size_t size :
       {bytes.size(), bytes.size() - 1, bytes.size() - 512, bytes.size() - 4096, std::size_t{1}}) {
    ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(size)), 0);
    const IoResult got = read(direct, arena->slot(1), 0);
    EXPECT_EQ(got.error, 0);
    EXPECT_EQ(got.bytes, size);
    EXPECT_TRUE(std::ranges::equal(arena->slot(1).first(size), std::span(bytes).first(size)));
  }
}

}  // namespace
}  // namespace rdcp::io
