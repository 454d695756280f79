// Measures the round trip to an agent.
#pragma once

#include <chrono>
#include <optional>

#include "cli/agents/agent_session.h"

namespace rdcp::cli {

// Sends a few pings, one after the other, and keeps the shortest time, since the other ones had to wait for a
// processor.
class RoundTrip {
 public:
  using Clock = std::chrono::steady_clock;

  // Begins to measure; to be called once the agent has said hello. Further calls have no effect. This must
  // outlive what the session receives.
  void start(AgentSession& far);
  // Returns the shortest time so far, or nothing if no answer has come.
  const std::optional<Clock::duration>& shortest() const { return shortest_; }

 private:
  void ping(AgentSession& far);

  unsigned pings_ = 0;
  Clock::time_point pinged_;
  std::optional<Clock::duration> shortest_;
};

}  // namespace rdcp::cli
