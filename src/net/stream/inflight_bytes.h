// Measures a link by when payloads are posted to a device and when the device has completed them, that is,
// when the peer's device has acknowledged them. It makes the samples for a CompressionController if no kernel
// counts. A source that waits for a credit has nothing under way, so a slow target does not look like a slow
// link.
#pragma once

#include <cassert>
#include <cstdint>

#include "net/stream/compression_controller.h"

namespace rdcp::net {

class InflightBytes {
 public:
  using Clock = CompressionController::Clock;

  // at is the time before the post, because a device made of software sends on the processor that posts.
  void posted(std::uint64_t bytes, Clock::time_point at) {
    if (under_way_ == 0) busy_since_ = at;
    under_way_ += bytes;
  }
  void completed(std::uint64_t bytes, Clock::time_point at) {
    assert(bytes <= under_way_);
    under_way_ -= bytes;
    completed_ += bytes;
    if (under_way_ == 0 && bytes > 0) busy_ += at - busy_since_;
  }
  CompressionController::Sample sample(Clock::time_point at) const {
    const Clock::duration busy = under_way_ > 0 ? busy_ + (at - busy_since_) : busy_;
    const auto busy_us = std::chrono::duration_cast<std::chrono::microseconds>(busy).count();
    return {.at = at,
            .acked_bytes = completed_,
            .queued_bytes = under_way_,
            .busy_us = static_cast<std::uint64_t>(busy_us)};
  }

 private:
  std::uint64_t under_way_ = 0;
  std::uint64_t completed_ = 0;
  Clock::time_point busy_since_;
  Clock::duration busy_{};
};

}  // namespace rdcp::net
