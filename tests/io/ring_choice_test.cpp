// Which ring a machine gets, and what it says about itself.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "io/arena.h"
#include "tests/io/refuse_call.h"
#include "tests/io/ring_fixture.h"
#include "tests/io/temp_file.h"

namespace rdcp::io {
namespace {

// With CAP_IPC_LOCK nothing is charged to RLIMIT_MEMLOCK. Capabilities belong to the thread.
void drop_capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  ASSERT_EQ(::syscall(SYS_capset, &header, none), 0);
}

TEST(MakeRing, FallsBackToThreadsWhereIoUringIsForbidden) {
  std::thread container([] {
    ASSERT_TRUE(refuse_call(SYS_io_uring_setup, EPERM));
    Result<std::unique_ptr<Ring>> ring = make_ring(RingChoice::automatic, kDepth);
    ASSERT_TRUE(ring.ok()) << ring.error().message();
    EXPECT_EQ((*ring)->description(), "thread pool (io_uring_setup: Operation not permitted)");
  });
  container.join();
}

TEST(MakeRing, WhoAsksForIoUringIsToldThatItIsForbidden) {
  std::thread container([] {
    ASSERT_TRUE(refuse_call(SYS_io_uring_setup, EPERM));
    Result<std::unique_ptr<Ring>> ring = make_ring(RingChoice::io_uring, kDepth);
    ASSERT_FALSE(ring.ok());
    EXPECT_EQ(ring.error().code, EPERM);
  });
  container.join();
}

TEST(MakeRing, ThreadPoolOnRequestNeedsNoReason) {
  EXPECT_EQ((*make_ring(RingChoice::thread_pool, kDepth))->description(), "thread pool");
}

TEST(MakeRing, ADepthOfNothingIsOne) {
  for (const RingChoice choice : {RingChoice::automatic, RingChoice::thread_pool}) {
    Result<std::unique_ptr<Ring>> ring = make_ring(choice, 0);
    ASSERT_TRUE(ring.ok()) << ring.error().message();
    const Fd file = temp_file("/tmp");
    const std::vector<std::byte> bytes = test_bytes(10);
    Operation write = (*ring)->write({.fd = file.get()}, bytes, 0);
    EXPECT_EQ(run_operation(**ring, write).bytes, 10U);
  }
}

TEST(Uring, GoesOnUnregisteredWhereMemlockIsTooSmallAndSaysSo) {
  rlimit old_limit;
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &old_limit), 0);
  const rlimit limit = {64 << 10, old_limit.rlim_max};
  bool forbidden = false;
  std::thread unprivileged([&] {
    drop_capabilities();
    Result<std::unique_ptr<Ring>> ring = make_ring(RingChoice::io_uring, kDepth);
    if (!ring.ok()) {
      forbidden = true;
      return;
    }
    EXPECT_EQ((*ring)->description(), "io_uring");
    ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &limit), 0);
    Result<Arena> arena = Arena::create(4, 1 << 20);
    ASSERT_TRUE(arena.ok());
    (*ring)->register_arena(arena->all());
    EXPECT_EQ((*ring)->description(), "io_uring, arena not registered: raise the memlock limit (ulimit -l)");
    const Fd file = temp_file("/tmp");
    Operation write = (*ring)->write({.fd = file.get()}, arena->slot(1), 0);
    EXPECT_EQ(run_operation(**ring, write).bytes, arena->slot_bytes());
  });
  unprivileged.join();
  ::setrlimit(RLIMIT_MEMLOCK, &old_limit);
  if (forbidden) GTEST_SKIP() << "io_uring is forbidden here";
}

// As pipes are before Linux 6.4: RWF_NOWAIT is not supported,
// and a plain write of all would wait for the reader.
TEST(ThreadRing, IsNotStuckInAFullPipeWithoutNowait) {
  std::thread old_kernel([] {
    ASSERT_TRUE(refuse_call(SYS_pwritev2, EOPNOTSUPP));
    Result<std::unique_ptr<Ring>> ring = make_ring(RingChoice::thread_pool, 1);
    ASSERT_TRUE(ring.ok());
    const Pipe pipe;
    const std::vector<std::byte> bytes = test_bytes(300'000);
    IoResult written;
    int running = 0;
    Operation write = (*ring)->write({.fd = pipe.in.get()}, bytes, kNoOffset);
    Task writer = move_bytes(write, written, running);
    writer.start();
    std::vector<std::byte> into(bytes.size());
    Operation read = (*ring)->read({.fd = pipe.out.get()}, into, kNoOffset);
    EXPECT_EQ(run_operation(**ring, read).bytes, bytes.size()) << "the only thread must be free to read";
    while (running > 0) ASSERT_TRUE((*ring)->run_once(std::chrono::seconds(1)).ok());
    EXPECT_EQ(written.bytes, bytes.size());
    EXPECT_EQ(into, bytes);
  });
  old_kernel.join();
}

}  // namespace
}  // namespace rdcp::io
