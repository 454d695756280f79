// Measures for how long something is in use, and by how many at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rdcp::io {

// Thread-safe, without a lock.
class Occupancy {
 public:
  using Clock = std::chrono::steady_clock;
  struct Times {
    std::uint64_t any_us = 0;  // while somebody used it
    std::uint64_t sum_us = 0;  // of all uses
  };

  // At most 65,535 may use it at a time.
  void enter() { change(1); }
  void leave() { change(-1); }
  // Returns the times so far; uses that go on count. Two calls may differ by the length of a call where they
  // meet a change.
  Times times() const;

  // Uses it while this lives.
  class Use {
   public:
    explicit Use(Occupancy& place) : place_(place) { place_.enter(); }
    ~Use() { place_.leave(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Occupancy& place_;
  };

 private:
  void change(int by);
  std::uint64_t now_us() const;

  const Clock::time_point begun_ = Clock::now();
  // The time of the last change, in microseconds, and in the lowest bits how many use it since then.
  std::atomic<std::uint64_t> state_{0};
  std::atomic<std::uint64_t> any_us_{0}, sum_us_{0};  // up to that change
};

}  // namespace rdcp::io
