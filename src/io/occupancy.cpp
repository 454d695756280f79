#include "io/occupancy.h"

#include <algorithm>

namespace rdcp::io {
namespace {

constexpr unsigned kCountBits = 16;

constexpr std::uint64_t time_of(std::uint64_t state) {
  return state >> kCountBits;
}

constexpr std::uint64_t count_of(std::uint64_t state) {
  return state & ((1u << kCountBits) - 1);
}

}  // namespace

std::uint64_t Occupancy::now_us() const {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begun_).count());
}

// Whoever changes the state adds the time that has passed in the state before, so each is added once.
void Occupancy::change(int by) {
  std::uint64_t before = state_.load(std::memory_order_relaxed);
  std::uint64_t after = 0;
  do {
    const std::uint64_t now = std::max(now_us(), time_of(before));
    after = (now << kCountBits) | (count_of(before) + static_cast<std::uint64_t>(by));
  } while (!state_.compare_exchange_weak(before, after, std::memory_order_relaxed));
  const std::uint64_t passed = time_of(after) - time_of(before);
  if (count_of(before) == 0 || passed == 0) return;
  any_us_.fetch_add(passed, std::memory_order_relaxed);
  sum_us_.fetch_add(passed * count_of(before), std::memory_order_relaxed);
}

Occupancy::Times Occupancy::times() const {
  std::uint64_t state = 0;
  Times times;
  do {
    state = state_.load();
    times = {.any_us = any_us_.load(), .sum_us = sum_us_.load()};
  } while (state_.load() != state);
  if (count_of(state) == 0) return times;
  const std::uint64_t passed = std::max(now_us(), time_of(state)) - time_of(state);
  times.any_us += passed;
  times.sum_us += passed * count_of(state);
  return times;
}

}  // namespace rdcp::io
