#include "tree/agent/job_streams.h"

namespace rdcp::tree {

std::optional<std::vector<std::uint16_t>> JobStreams::connects_to(const Begin& begin) const {
  const bool connects = own_->connects_in(begin) && !own_->goes_through_ssh(begin);
  const Begin* const next = chain_.order() ? &chain_.order()->begin : nullptr;
  const auto anywhere = [](const Begin& side) { return !side.rails.empty() || side.port == 0; };
  if (!begin.rails.empty() || (connects && begin.port == 0)) return std::nullopt;
  if (next != nullptr && anywhere(*next)) return std::nullopt;
  if (!connects && !own_->goes_either_way() && !chain_.may_pass_on()) return std::nullopt;
  std::vector<std::uint16_t> ports;
  if (connects) ports.push_back(begin.port);
  if (next != nullptr) ports.push_back(next->port);
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
