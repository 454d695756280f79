#include "net/stream/compression_controller.h"

#include <algorithm>

namespace rdcp::net {
namespace {

// The network counts as the limit if it limits at least this share of the time.
constexpr double kLimitingShare = 0.5;
// Packing costs the processor more than sending does, so it has to be clearly faster than the link.
constexpr double kClearlyFaster = 0.7;
// Packing must be this much faster, because it takes time from other streams and from the peer, too.
constexpr double kGain = 1.2;
// Payloads that hardly shrink say nothing about packing; the compressor skips most of them.
constexpr double kHardlyShrinks = 0.9;
// At most, packing is judged over this many times the shortest time.
constexpr double kPatienceMax = 20;

double seconds_of(CompressionController::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void CompressionController::take(const Sample& sample, double packs_per_second) {
  if (!sampled_) change_to(false, sample);
  sampled_ = sample.at;
  // One thread packs all of a stream, so no more than this can get through.
  if (packs_ && packs_per_second < kGain * plain_) return give_up(sample, 0);
  if (sample.acked_bytes < settled_at_) return;
  if (!window_) {
    settling_ = sample.at - changed_at_;
    window_ = sample;
    return;
  }
  const Clock::duration time = sample.at - window_->at;
  if (packs_) {
    // The faster the compressor is compared with the link, the more likely packing is of use, and the less
    // short moments say.
    const double patience = std::clamp(packs_per_second / plain_, 1.0, kPatienceMax);
    if (time >= patience * kWindow / 2) judge_packed(sample);
  } else if (time >= kWindow) {
    judge_plain(sample, packs_per_second);
  }
}

void CompressionController::handed_over(std::uint64_t bytes, std::uint64_t wire_bytes) {
  bytes_ += bytes;
  wire_bytes_ += wire_bytes;
}

void CompressionController::judge_plain(const Sample& sample, double packs_per_second) {
  const double busy = static_cast<double>(sample.busy_us - window_->busy_us) / 1e6;
  const double receiver = static_cast<double>(sample.receiver_us - window_->receiver_us) / 1e6;
  const auto acked = static_cast<double>(sample.acked_bytes - window_->acked_bytes);
  const double network = busy - receiver;
  const Clock::duration time = sample.at - window_->at;
  const bool limits = acked > 0 && network >= kLimitingShare * seconds_of(time);
  // Time in which there was nothing to send does not count against the link.
  const double plain = acked / busy;
  if (!limits || acked / network >= kClearlyFaster * packs_per_second) {
    window_ = sample;
    return;
  }
  if (sample.at < not_before_) {
    if (time < kSureWindow) return;
    if (given_up_ < kGain * kGain * plain) {
      window_ = sample;
      return;
    }
  }
  plain_ = plain;
  const Clock::duration measured = settling_ + time;
  const bool sure = looked_again_ || time >= kSureWindow;
  look_again_ =
      sure ? std::max<Clock::duration>(kLookAgain, kLookShare * measured) : kFirstLookShare * measured;
  change_to(true, sample);
}

// Judges all that was packed since the last change, because a link's rate varies from moment to moment.
void CompressionController::judge_packed(const Sample& sample) {
  if (wire_bytes_ == 0) return;
  const auto acked = static_cast<double>(sample.acked_bytes - window_->acked_bytes);
  const double packed_to = static_cast<double>(wire_bytes_) / static_cast<double>(bytes_);
  const double got = acked / packed_to / seconds_of(sample.at - window_->at);
  const bool of_use = packed_to > kHardlyShrinks || got >= kGain * plain_;
  if (!of_use) return give_up(sample, got);
  if (sample.at - changed_at_ < look_again_) return;
  wait_ = kWaitMin;
  looked_again_ = true;
  change_to(false, sample);
}

void CompressionController::give_up(const Sample& sample, double got) {
  given_up_ = got;
  looked_again_ = false;
  not_before_ = sample.at + wait_;
  wait_ = std::min<Clock::duration>(2 * wait_, kWaitMax);
  change_to(false, sample);
}

void CompressionController::change_to(bool packs, const Sample& sample) {
  packs_ = packs;
  changed_at_ = sample.at;
  settled_at_ = sample.acked_bytes + sample.queued_bytes;
  window_.reset();
  bytes_ = wire_bytes_ = 0;
}

}  // namespace rdcp::net
