// Whether a network, and not the two hosts, is what limits a TCP stream: by what the kernel says of the time
// that the connection was busy, and of how much of that it waited for the receiver.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace rdcp::net {

class LinkWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // Of tcp_info (linux/tcp.h).
  struct Sample {
    Clock::time_point at;
    std::uint64_t acked_bytes = 0;
    std::uint64_t busy_us = 0;      // there was something to send, or not yet acknowledged
    std::uint64_t receiver_us = 0;  // of that: the receiver's window was shut
  };

  // True when it is time for the next sample.
  bool due(Clock::time_point now) const { return !last_ || now - last_->at >= kEvery; }
  // packs_per_second: what a compressor does in that time, in unpacked bytes.
  void take(const Sample& sample, double packs_per_second);
  // The link carries less than a compressor takes, so packing makes the stream faster.
  bool is_slow() const { return slow_; }

 private:
  static constexpr std::chrono::milliseconds kEvery{25};
  // While payloads are packed the link may have nothing to wait for, so it is looked at without now and then.
  static constexpr std::chrono::seconds kLookAgain{5};

  std::optional<Sample> last_;
  Clock::time_point slow_since_;
  bool slow_ = false;
};

}  // namespace rdcp::net
