// Finds those that do not come of many agents that start at the same time.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "cli/agents/session_loop.h"

namespace rdcp::cli {

// Watches how agents come to say hello. Not thread-safe.
class Latecomers {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kHelloAfterOthers{10};

  explicit Latecomers(std::chrono::milliseconds patience = kHelloAfterOthers) : patience_(patience) {}

  // Returns those of the agents that are late: since they were started, and since the last other one has said
  // hello, they have given no sign of life for so long. Until one has, none is. To be called now and then,
  // not while a user may be asked for a password.
  std::vector<AgentSession*> find(const std::vector<AgentSession*>& agents);

 private:
  const std::chrono::milliseconds patience_;
  std::ptrdiff_t greeted_ = 0;
  std::optional<Clock::time_point> last_hello_;
};

}  // namespace rdcp::cli
