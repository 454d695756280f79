// What a link does, told by when payloads are posted to a device and when it has completed them, acknowledged
// by the peer's device: a CompressionController's samples, where no kernel counts. A source that waits for a
// credit has nothing under way, so that a slow target is no slow link.
#pragma once

#include <cassert>
#include <cstdint>

#include "net/stream/compression_controller.h"

namespace rdcp::net {

class InflightBytes {
 public:
  using Clock = CompressionController::Clock;

  // at: before it was posted, since a device of software sends on the processor that posts.
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
