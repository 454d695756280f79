#include "tree/agent/job_streams.h"

#include <algorithm>

namespace rdcp::tree {

std::optional<std::vector<std::uint16_t>> JobStreams::connects_to(const Begin& begin) const {
  const bool connects = own_->connects_in(begin) && !own_->goes_through_ssh(begin);
  const std::vector<PassOn> orders = chain_.orders();
  const auto anywhere = [](const PassOn& order) {
    return !order.begin.rails.empty() || order.begin.port == 0;
  };
  if (!begin.rails.empty() || (connects && begin.port == 0)) return std::nullopt;
  if (std::ranges::any_of(orders, anywhere)) return std::nullopt;
  if (!connects && !own_->goes_either_way() && !chain_.may_pass_on()) return std::nullopt;
  std::vector<std::uint16_t> ports;
  if (connects) ports.push_back(begin.port);
  for (const PassOn& order : orders) ports.push_back(order.begin.port);
  return ports;
}

std::vector<io::Words> JobStreams::notes() const {
  std::vector<io::Words> notes = own_->notes();
  const std::vector<io::Words> further = chain_.notes();
  notes.insert(notes.end(), further.begin(), further.end());
  return notes;
}

void JobStreams::stop() {
  own_->stop();
  chain_.stop();
}

}  // namespace rdcp::tree
