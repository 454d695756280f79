#include "cli/agents/latecomers.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rdcp::cli {

std::vector<AgentSession*> Latecomers::find(const std::vector<AgentSession*>& agents) {
  const Clock::time_point now = Clock::now();
  const auto greeted =
      std::ranges::count_if(agents, [](const AgentSession* session) { return session->hello().has_value(); });
  if (std::exchange(greeted_, greeted) != greeted) last_hello_ = now;
  std::vector<AgentSession*> late;
  if (!last_hello_ || now - *last_hello_ < patience_) return late;
  std::ranges::copy_if(agents, std::back_inserter(late), [&](const AgentSession* session) {
    return SessionLoop::is_coming(session) && session->silence() >= patience_;
  });
  return late;
}

}  // namespace rdcp::cli
