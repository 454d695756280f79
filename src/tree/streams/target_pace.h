// Measures what a target is busy with; its workers count in it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "io/occupancy.h"
#include "tree/messages/chain.h"

namespace rdcp::tree {

// Thread-safe.
class TargetPace {
 public:
  io::Occupancy arriving;  // chunks of which a part has come
  io::Occupancy handling;  // chunks that are put in their place
  io::Occupancy waiting;   // chunks for which only the targets behind this one have something to do
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint32_t> slots{0};

  Pace told() const {
    const auto passed = std::chrono::steady_clock::now() - begun_;
    const io::Occupancy::Times handled = handling.times();
    return {.clock_us = static_cast<std::uint64_t>(
                std::chrono::duration_cast<std::chrono::microseconds>(passed).count()),
            .bytes = bytes,
            .arriving_us = arriving.times().any_us,
            .handling_us = handled.any_us,
            .handling_slots_us = handled.sum_us,
            .waiting_slots_us = waiting.times().sum_us,
            .slots = slots};
  }

 private:
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace rdcp::tree
