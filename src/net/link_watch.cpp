#include "net/link_watch.h"

namespace rdcp::net {
namespace {

// The network counts as the limit from this share of the time on.
constexpr double kLimitingShare = 0.5;
// Packing costs the processor more than sending does, so it has to be clearly faster than the link.
constexpr double kClearlyFaster = 0.7;

}  // namespace

void LinkWatch::take(const Sample& sample, double packs_per_second) {
  if (!last_) {
    last_ = sample;
    return;
  }
  const double seconds = std::chrono::duration<double>(sample.at - last_->at).count();
  const auto busy = static_cast<double>(sample.busy_us - last_->busy_us) / 1e6;
  const auto receiver = static_cast<double>(sample.receiver_us - last_->receiver_us) / 1e6;
  const auto bytes = static_cast<double>(sample.acked_bytes - last_->acked_bytes);
  last_ = sample;
  const double network = busy - receiver;
  const bool limits = network >= kLimitingShare * seconds;
  if (limits && bytes > 0) {
    const bool slow = bytes / network < kClearlyFaster * packs_per_second;
    if (slow && !slow_) slow_since_ = sample.at;
    slow_ = slow;
  } else if (slow_ && sample.at - slow_since_ > kLookAgain) {
    slow_ = false;
  }
}

}  // namespace rdcp::net
