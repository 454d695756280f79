#include "net/tcp/lossy_path.h"

#include <algorithm>
#include <utility>

namespace rdcp::net {
namespace {

// On a shorter path a sender has soon made good what a loss has cost.
constexpr std::chrono::milliseconds kShortPath{10};
// A queue that is full makes a round trip longer by at least this part of it.
constexpr int kPartOfTrip = 4;
// Seconds with losses and without a queue, less those with both.
constexpr int kSecondsUntilSure = 3;

}  // namespace

bool LossyPath::take(const Sample& sample) {
  const bool has_lost = std::exchange(sent_again_, sample.sent_again) != sample.sent_again;
  if (!has_lost || sample.shortest_trip < kShortPath) return false;
  const bool has_queue = sample.round_trip > sample.shortest_trip + sample.shortest_trip / kPartOfTrip;
  lossy_seconds_ = has_queue ? std::max(lossy_seconds_ - 1, 0) : lossy_seconds_ + 1;
  return lossy_seconds_ >= kSecondsUntilSure;
}

}  // namespace rdcp::net
