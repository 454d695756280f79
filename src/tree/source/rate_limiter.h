// Limits the rate at which a source sends (--bwlimit).
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "io/ring.h"

namespace rdcp::tree {

// Thread-safe: all workers of a source share one. Chunks are spaced so that the sum keeps to the rate.
class RateLimiter {
 public:
  explicit RateLimiter(std::uint64_t bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  // Returns when the caller may send `bytes`. Without a limit that is a time in the past.
  io::Clock::time_point reserve(std::uint64_t bytes) {
    return bytes_per_second_ == 0 ? io::Clock::time_point() : reserve(bytes, io::Clock::now());
  }
  // Does the same at a given time, if there is a limit.
  io::Clock::time_point reserve(std::uint64_t bytes, io::Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    const auto turn = std::max(next_, now);
    const double seconds = static_cast<double>(bytes) / static_cast<double>(bytes_per_second_);
    next_ = turn + std::chrono::duration_cast<io::Clock::duration>(std::chrono::duration<double>(seconds));
    return turn;
  }

 private:
  const std::uint64_t bytes_per_second_;
  std::mutex mutex_;
  io::Clock::time_point next_{};
};

}  // namespace rdcp::tree
