#include "cli/agents/round_trip.h"

#include <algorithm>

namespace rdcp::cli {

void RoundTrip::start(AgentSession& far) {
  constexpr unsigned kPings = 3;
  if (pings_ > 0) return;
  far.on<tree::Pong>([this, &far](const tree::Pong&) {
    const Clock::duration time = Clock::now() - pinged_;
    shortest_ = std::min(shortest_.value_or(time), time);
    if (pings_ < kPings) ping(far);
  });
  ping(far);
}

void RoundTrip::ping(AgentSession& far) {
  ++pings_;
  pinged_ = Clock::now();
  far.tell(tree::Ping());
}

}  // namespace rdcp::cli
