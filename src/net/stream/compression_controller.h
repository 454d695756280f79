// Whether a stream gets more through when its payloads are packed. It is tried where the network, and not one
// of the two hosts, is what is waited for, and is slower than the compressor. What comes of it is compared
// with what came before, and kept up only if it is clearly more: where both ends, or the link itself, want
// the processor that packs, no measure of the link says beforehand what packing takes from them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace rdcp::net {

class CompressionController {
 public:
  using Clock = std::chrono::steady_clock;

  // Sums since the stream's begin, of what travels: packed bytes where it is packed.
  struct Sample {
    Clock::time_point at;
    std::uint64_t acked_bytes = 0;
    std::uint64_t queued_bytes = 0;  // now: handed over, not acknowledged
    std::uint64_t busy_us = 0;       // there was something to send, or not yet acknowledged
    std::uint64_t receiver_us = 0;   // of that: the receiver had no room
  };

  // True when it is time for the next sample.
  bool due(Clock::time_point now) const { return !sampled_ || now - *sampled_ >= kEvery; }
  // packs_per_second: what a compressor does in that time, in unpacked bytes.
  void take(const Sample& sample, double packs_per_second);
  // A payload was handed over that travels as so many bytes.
  void handed_over(std::uint64_t bytes, std::uint64_t wire_bytes);
  // The next payload is to be packed.
  bool packs() const { return packs_; }

 private:
  static constexpr std::chrono::milliseconds kEvery{10};
  // What is judged is at least so long, with packing half of it.
  static constexpr std::chrono::milliseconds kWindow{100};
  // How long it goes without after packing was of no use: doubled each time.
  static constexpr std::chrono::seconds kWaitMin{2};
  static constexpr std::chrono::seconds kWaitMax{16};
  // What a stream gets without packing is looked at anew after so long, and so many times what a look takes.
  static constexpr std::chrono::seconds kLookAgain{5};
  static constexpr int kLookShare = 20;

  void judge_plain(const Sample& sample, double packs_per_second);
  void judge_packed(const Sample& sample);
  void give_up(const Sample& sample);
  void change_to(bool packs, const Sample& sample);

  bool packs_ = false;
  std::optional<Clock::time_point> sampled_;
  Clock::time_point changed_at_;  // to packing, or back
  std::uint64_t settled_at_ = 0;  // acked bytes: what was handed over before the change has arrived
  Clock::duration settling_{};    // how long that took
  std::optional<Sample> window_;  // what is judged begins here
  std::uint64_t bytes_ = 0;       // handed over since the change
  std::uint64_t wire_bytes_ = 0;
  double plain_ = 0;              // bytes a second without packing
  Clock::duration look_again_{};  // after the change to packing
  Clock::duration wait_ = kWaitMin;
  Clock::time_point not_before_;
};

}  // namespace rdcp::net
