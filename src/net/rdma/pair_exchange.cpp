#include "net/rdma/pair_exchange.h"

#include <algorithm>
#include <utility>

namespace rdcp::net {
namespace {

// The first local identifier of a multicast group (InfiniBand Architecture Specification, 4.1.3).
constexpr std::uint16_t kMulticastLid = 0xc000;
// More than any name of a device (IBV_SYSFS_NAME_MAX) and any GID has.
constexpr std::size_t kNameBytesMax = 64;
// An answer, and word of its end.
constexpr std::size_t kAnswersMax = 2;

}  // namespace

std::string fault_of(const PairEnd& end, LinkKind link) {
  if (link == LinkKind::iwarp) return "iWARP connections need librdmacm";
  if (end.gid == GidBytes{}) return "it has no GID";
  if (link == LinkKind::infiniband && (end.lid == 0 || end.lid >= kMulticastLid)) return "it has no LID";
  return {};
}

std::uint32_t PairExchange::offer(PairOffer offer) {
  {
    const std::lock_guard lock(mutex_);
    offer.number = ++last_number_;
    awaited_[offer.number];
  }
  ways_.offer(offer);
  return offer.number;
}

std::optional<PairAnswer> PairExchange::answer_to(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = awaited_.find(number);
  if (found == awaited_.end() || found->second.empty()) return std::nullopt;
  PairAnswer answer = std::move(found->second.front());
  found->second.pop_front();
  return answer;
}

void PairExchange::forget(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  awaited_.erase(number);
}

std::optional<PairOffer> PairExchange::next_offer() {
  const std::lock_guard lock(mutex_);
  if (offers_.empty()) return std::nullopt;
  PairOffer offer = std::move(offers_.front());
  offers_.pop_front();
  return offer;
}

void PairExchange::take(PairOffer offer) {
  const bool could_be_ours = offer.device.size() <= kNameBytesMax && offer.gid.size() <= kNameBytesMax;
  if (could_be_ours) {
    const std::lock_guard lock(mutex_);
    if (offers_.size() < kOffersMax) {
      offers_.push_back(std::move(offer));
      return ring();
    }
  }
  ways_.answer({.number = offer.number,
                .end = {},
                .refusal = could_be_ours ? "too many connections are under way" : "there is no such port"});
}

void PairExchange::take(PairAnswer answer) {
  const std::lock_guard lock(mutex_);
  const auto found = awaited_.find(answer.number);
  if (found == awaited_.end() || found->second.size() == kAnswersMax) return;
  found->second.push_back(std::move(answer));
  ring();
}

void PairExchange::ring() {
  if (bell_) bell_->signal();
}

void PairExchange::quiet() {
  if (bell_) bell_->drain();
}

}  // namespace rdcp::net
