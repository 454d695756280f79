// Polls, sleepers, wake-ups, the list of the ready, and the end, on both backends.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "io/arena.h"
#include "io/ring.h"
#include "tests/io/ring_fixture.h"
#include "tests/io/temp_file.h"

namespace rdcp::io {
namespace {

using RingWaitTest = RingTest;

INSTANTIATE_TEST_SUITE_P(Backend, RingWaitTest,
                         testing::Values(RingChoice::io_uring, RingChoice::thread_pool), backend_name);

TEST_P(RingWaitTest, PollReturnsTheEvents) {
  Pipe pipe;
  Operation writable = ring_->poll(pipe.in.get(), POLLOUT);
  EXPECT_EQ(run_operation(*ring_, writable).bytes, static_cast<std::size_t>(POLLOUT));
  Operation readable = ring_->poll(pipe.out.get(), POLLIN);
  pipe.in.reset();
  EXPECT_NE(run_operation(*ring_, readable).bytes & POLLHUP, 0U);
}

TEST_P(RingWaitTest, PollOfNoDescriptorIsAnError) {
  const Pipe pipe;
  const int fd = ::dup(pipe.in.get());
  ::close(fd);
  Operation poll = ring_->poll(fd, POLLIN);
  EXPECT_EQ(run_operation(*ring_, poll).error, EBADF);
}

TEST_P(RingWaitTest, ManyPollsEachGetTheirOwn) {
  constexpr std::size_t kCount = 3 * kDepth;
  std::array<Pipe, kCount> pipes;
  std::vector<std::unique_ptr<Operation>> polls;
  std::vector<Task> tasks;
  std::array<IoResult, kCount> results;
  int running = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    polls.emplace_back(new Operation(ring_->poll(pipes[i].out.get(), POLLIN)));
    tasks.push_back(move_bytes(*polls[i], results[i], running));
    tasks[i].start();
  }
  for (std::size_t step = 0; step < kCount; ++step) {
    const std::size_t i = step * 5 % kCount;
    ASSERT_EQ(::write(pipes[i].in.get(), "x", 1), 1);
    while (!tasks[i].done()) ASSERT_TRUE(ring_->run_once(std::chrono::seconds(1)).ok());
    EXPECT_EQ(running, static_cast<int>(kCount - step - 1));
  }
}

Task sleep_then_note(Ring& ring, Clock::time_point until, int name, std::vector<int>& order) {
  co_await ring.sleep_until(until);
  EXPECT_GE(Clock::now(), until);
  order.push_back(name);
}

TEST_P(RingWaitTest, SleepersWakeInTheOrderOfTheirTimes) {
  std::vector<int> order;
  const Clock::time_point start = Clock::now();
  std::vector<Task> tasks;
  for (const int after : {30, 10, 40, 20}) {
    tasks.push_back(sleep_then_note(*ring_, start + milliseconds(after), after, order));
    tasks.back().start();
  }
  while (order.size() < tasks.size()) ASSERT_TRUE(ring_->run_once(std::chrono::seconds(5)).ok());
  EXPECT_EQ(order, (std::vector<int>{10, 20, 30, 40}));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(4)) << "a sleeper must cut the wait short";
}

TEST_P(RingWaitTest, WaitEndsAfterItsTime) {
  const Clock::time_point start = Clock::now();
  ASSERT_TRUE(ring_->run_once(milliseconds(20)).ok());
  EXPECT_GE(Clock::now() - start, milliseconds(20));
}

TEST_P(RingWaitTest, AcceptsTheLongestWait) {
  ring_->wake();
  EXPECT_TRUE(ring_->run_once(Clock::duration::max()).ok());
}

TEST_P(RingWaitTest, WakeBeforeRunOnceCounts) {
  const Clock::time_point start = Clock::now();
  ring_->wake();
  ring_->wake();
  ASSERT_TRUE(ring_->run_once(std::chrono::seconds(20)).ok());
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
}

TEST_P(RingWaitTest, EveryWakeFromAnotherThreadIsHeard) {
  constexpr int kWakes = 2000;
  std::atomic<int> asked = 0;
  std::atomic<int> heard = 0;
  const Clock::time_point start = Clock::now();
  std::thread waker([&] {
    for (int i = 1; i <= kWakes; ++i) {
      asked = i;
      ring_->wake();
      while (heard < i) std::this_thread::yield();
    }
  });
  while (heard < kWakes) {
    ASSERT_TRUE(ring_->run_once(std::chrono::seconds(30)).ok());
    heard = asked.load();
  }
  waker.join();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(25)) << "a wake-up was lost";
}

TEST_P(RingWaitTest, WakesFromManyThreadsAreNeverLost) {
  constexpr int kThreads = 4;
  constexpr int kWakes = 5000;
  std::atomic<int> count = 0;
  std::vector<std::thread> wakers;
  for (int i = 0; i < kThreads; ++i) {
    wakers.emplace_back([&] {
      for (int wake = 0; wake < kWakes; ++wake) {
        ++count;
        ring_->wake();
      }
    });
  }
  const Clock::time_point start = Clock::now();
  while (count < kThreads * kWakes) ASSERT_TRUE(ring_->run_once(std::chrono::seconds(30)).ok());
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(25)) << "a wake-up was lost";
  for (std::thread& waker : wakers) waker.join();
}

struct ScheduledOnce {
  explicit ScheduledOnce(WaitList& list) : list(list) {}
  Task run() {
    for (; turns < 3; ++turns) co_await list.wait();
  }
  WaitList& list;
  int turns = 0;
};

TEST_P(RingWaitTest, ScheduledWaitersAreResumedByRunOnceOnly) {
  WaitList list(*ring_);
  ScheduledOnce waiting(list);
  Task task = waiting.run();
  task.start();
  for (int turn = 1; turn <= 3; ++turn) {
    list.wake_all();
    EXPECT_EQ(waiting.turns, turn - 1);
    const Clock::time_point start = Clock::now();
    ASSERT_TRUE(ring_->run_once(std::chrono::seconds(20)).ok());
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(10)) << "it blocked though there was work";
    EXPECT_EQ(waiting.turns, turn);
  }
  EXPECT_TRUE(task.done());
}

Task keep_scheduling(WaitList& list, const bool& stop) {
  while (!stop) {
    list.wake_all();
    co_await list.wait();
  }
}

TEST_P(RingWaitTest, CoroutinesThatWakeEachOtherDoNotStarveCompletions) {
  WaitList list(*ring_);
  bool stop = false;
  Task busy = keep_scheduling(list, stop);
  Task busy_too = keep_scheduling(list, stop);
  busy.start();
  busy_too.start();
  const Fd file = temp_file("/tmp");
  std::vector<std::byte> bytes(4096);
  EXPECT_EQ(write({.fd = file.get()}, bytes, 0).bytes, bytes.size());
  stop = true;
  while (!busy.done() || !busy_too.done()) {
    list.wake_all();
    ASSERT_TRUE(ring_->run_once(milliseconds(10)).ok());
  }
}

// The buffers and operations are gone by the time the pipes get their bytes.
TEST_P(RingWaitTest, MayBeDestroyedWithOperationsUnderWay) {
  const Pipe empty;
  const Pipe full;
  const std::vector<std::byte> bytes = test_bytes(1 << 20);
  {
    std::vector<std::byte> into(1 << 20);
    std::array<IoResult, 3> results;
    int running = 0;
    Operation read = ring_->read({.fd = empty.out.get()}, into, kNoOffset);
    Operation poll = ring_->poll(empty.out.get(), POLLIN);
    Operation write = ring_->write({.fd = full.in.get()}, bytes, kNoOffset);
    std::array tasks = {move_bytes(read, results[0], running), move_bytes(poll, results[1], running),
                        move_bytes(write, results[2], running)};
    for (Task& task : tasks) task.start();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring_->run_once(milliseconds(1)).ok());
    EXPECT_EQ(running, 3);
    ring_.reset();
    EXPECT_EQ(running, 3) << "waiters must not be resumed";
  }
  ASSERT_EQ(::write(empty.in.get(), "abc", 3), 3);
  char taken[4];
  EXPECT_EQ(::read(empty.out.get(), taken, sizeof taken), 3) << "the destroyed ring still reads";
}

// Reads past the page cache cannot be cancelled once the disk has them.
TEST_P(RingWaitTest, NothingIsReadIntoBuffersAfterDestruction) {
  constexpr std::size_t kReads = 4;
  const Fd file = disk_directory().empty() ? Fd() : temp_file(disk_directory());
  Result<Arena> arena = Arena::create(kReads, 8 << 20);
  ASSERT_TRUE(arena.ok());
  const auto fill_arena = [&](int value) { std::memset(arena->all().data(), value, arena->all().size()); };
  fill_arena(1);
  if (!file || ::fcntl(file.get(), F_SETFL, O_DIRECT) != 0 || !put(file.get(), arena->all())) {
    GTEST_SKIP() << "no filesystem that takes O_DIRECT";
  }
  const RingFile direct = {.fd = file.get(), .direct = true};
  std::vector<Task> tasks;
  std::array<IoResult, kReads> results;
  std::vector<std::unique_ptr<Operation>> reads;
  int running = 0;
  for (std::size_t i = 0; i < kReads; ++i) {
    reads.emplace_back(new Operation(ring_->read(direct, arena->slot(i), i * arena->slot_bytes())));
    tasks.push_back(move_bytes(*reads[i], results[i], running));
    tasks[i].start();
  }
  ASSERT_TRUE(ring_->run_once(Clock::duration::zero()).ok());
  ring_.reset();
  fill_arena(2);
  // By the time that the disk has read it all once more, what was still under way is over too.
  Result<Arena> again = Arena::create(1, arena->all().size());
  ASSERT_TRUE(again.ok());
  ASSERT_GT(::pread(file.get(), again->all().data(), again->all().size(), 0), 0);
  EXPECT_EQ(std::ranges::count(arena->all(), std::byte{1}), 0);
}

TEST_P(RingWaitTest, MayBeDestroyedBeforeAnythingIsSubmitted) {
  std::vector<std::byte> into(10);
  IoResult result;
  int running = 0;
  const Pipe pipe;
  Operation read = ring_->read({.fd = pipe.out.get()}, into, kNoOffset);
  Task task = move_bytes(read, result, running);
  task.start();
  ring_.reset();
  EXPECT_EQ(running, 1);
}

TEST_P(RingWaitTest, IsMadeAndUsedOnAnotherThread) {
  std::thread worker([] {
    Result<std::unique_ptr<Ring>> ring = make_ring(GetParam(), kDepth);
    ASSERT_TRUE(ring.ok());
    const Fd file = temp_file("/tmp");
    const std::vector<std::byte> bytes = test_bytes(1000);
    Operation write = (*ring)->write({.fd = file.get()}, bytes, 0);
    EXPECT_EQ(run_operation(**ring, write).bytes, bytes.size());
  });
  worker.join();
}

}  // namespace
}  // namespace rdcp::io
