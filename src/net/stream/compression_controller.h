// Decides whether a stream gets more through if its payloads are packed. Packing is tried if the stream waits
// for the network, not for one of the two hosts, and the network is slower than the compressor. The result is
// compared with the rate before, and packing goes on only if it is clearly faster: if both ends, or the link
// itself, need the processor that packs, no measure of the link says beforehand what packing takes from them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace rdcp::net {

class CompressionController {
 public:
  using Clock = std::chrono::steady_clock;

  // Sums since the stream began. Bytes are counted as they travel: packed, if they are packed.
  struct Sample {
    Clock::time_point at;
    std::uint64_t acked_bytes = 0;
    std::uint64_t queued_bytes = 0;  // at this moment: handed over, not acknowledged
    std::uint64_t busy_us = 0;       // time with something to send or not yet acknowledged
    std::uint64_t receiver_us = 0;   // the part of that in which the receiver had no room
  };

  // True if it is time for the next sample.
  bool due(Clock::time_point now) const { return !sampled_ || now - *sampled_ >= kEvery; }
  // packs_per_second is the compressor's speed in unpacked bytes a second.
  void take(const Sample& sample, double packs_per_second);
  // To be called when a payload was handed over. wire_bytes is its length as it travels.
  void handed_over(std::uint64_t bytes, std::uint64_t wire_bytes);
  // True if the next payload should be packed.
  bool packs() const { return packs_; }

 private:
  static constexpr std::chrono::milliseconds kEvery{10};
  // A rate is judged over at least this time; with packing, over at least half of it.
  static constexpr std::chrono::milliseconds kWindow{100};
  // Packing that was of no use is not tried again for this long, which doubles each time; unless the rate
  // without packing, over at least kSureWindow, then proves so low that packing was clearly of use after all.
  // A link that lets a burst through before it holds to its rate (a token bucket, tc-tbf(8)) looks faster at
  // first than it is.
  static constexpr std::chrono::seconds kWaitMin{2};
  static constexpr std::chrono::seconds kWaitMax{16};
  static constexpr std::chrono::milliseconds kSureWindow{500};
  // The rate without packing is measured again after this time, or after kLookShare times as long as a
  // measurement takes, whichever is longer. If the first measurement was shorter than kSureWindow, the first
  // such look comes after kFirstLookShare times as long: other programs may have made the link look slow.
  static constexpr std::chrono::seconds kLookAgain{5};
  static constexpr int kFirstLookShare = 5;
  static constexpr int kLookShare = 20;

  void judge_plain(const Sample& sample, double packs_per_second);
  void judge_packed(const Sample& sample);
  // got: unpacked bytes a second that came through with packing; 0 if that was not measured.
  void give_up(const Sample& sample, double got);
  void change_to(bool packs, const Sample& sample);

  bool packs_ = false;
  std::optional<Clock::time_point> sampled_;
  Clock::time_point changed_at_;  // when packing was last switched on or off
  std::uint64_t settled_at_ = 0;  // acked bytes when all that was handed over before the change has arrived
  Clock::duration settling_{};    // how long that took
  std::optional<Sample> window_;  // the beginning of what is judged
  std::uint64_t bytes_ = 0;       // handed over since the last change
  std::uint64_t wire_bytes_ = 0;
  double plain_ = 0;              // bytes a second without packing
  double given_up_ = 0;           // unpacked bytes a second with packing, when that was given up
  Clock::duration look_again_{};  // counted from the change to packing
  bool looked_again_ = false;     // since packing was last given up
  Clock::duration wait_ = kWaitMin;
  Clock::time_point not_before_;
};

}  // namespace rdcp::net
