#include "io/occupancy.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace rdcp::io {
namespace {

using Clock = Occupancy::Clock;

std::uint64_t microseconds(Clock::duration passed) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(passed).count());
}

void wait_until_counted(const Occupancy& place, std::uint64_t more_us) {
  const std::uint64_t until = place.times().any_us + more_us;
  while (place.times().any_us < until) std::this_thread::yield();
}

TEST(Occupancy, CountsNothingWhileNobodyIsThere) {
  const Occupancy place;
  EXPECT_EQ(place.times().any_us, 0u);
  EXPECT_EQ(place.times().sum_us, 0u);
}

TEST(Occupancy, CountsAUseThatGoesOn) {
  Occupancy place;
  const Clock::time_point before = Clock::now();
  place.enter();
  wait_until_counted(place, 300);
  const Occupancy::Times times = place.times();
  EXPECT_LE(times.any_us, microseconds(Clock::now() - before) + 1);
  EXPECT_EQ(times.any_us, times.sum_us);
}

TEST(Occupancy, TwoAtATimeAreOneTimeAndTwoUses) {
  Occupancy place;
  place.enter();
  place.enter();
  wait_until_counted(place, 300);
  place.leave();
  place.leave();
  const Occupancy::Times times = place.times();
  EXPECT_GE(times.any_us, 300u);
  // The first came a moment before the second, and left a moment after it.
  EXPECT_LE(times.sum_us, 2 * times.any_us);
  EXPECT_GT(times.sum_us, times.any_us);
  const std::uint64_t ended = place.times().sum_us;
  const Clock::time_point later = Clock::now() + std::chrono::microseconds(200);
  while (Clock::now() < later) std::this_thread::yield();
  EXPECT_EQ(place.times().sum_us, ended);
}

TEST(Occupancy, ManyThreadsLoseNothing) {
  constexpr int kThreads = 4, kUses = 20'000;
  Occupancy place;
  const Clock::time_point before = Clock::now();
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const Occupancy::Use always(place);
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      for (int use = 0; use < kUses; ++use) const Occupancy::Use again(place);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Occupancy::Times times = place.times();
  EXPECT_LE(times.any_us, microseconds(Clock::now() - before) + 1);
  EXPECT_GE(times.sum_us, times.any_us);
  EXPECT_LE(times.sum_us, 2 * kThreads * times.any_us);
  EXPECT_EQ(place.times().any_us, times.any_us);  // nobody is left
}

}  // namespace
}  // namespace rdcp::io
