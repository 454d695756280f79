// Passes on what agents say to each other to join their queue pairs without librdmacm.
#pragma once

#include <vector>

#include "cli/agents/agent_session.h"
#include "tree/messages/knock.h"

namespace rdcp::cli {

// Not thread-safe.
class PairRelay {
 public:
  // Joins two agents, of whose streams one side connects and the other listens. link: its number for the side
  // that connects. Both sessions outlive this, or say nothing more. What comes without a link is dropped.
  void join(AgentSession& connecting, tree::LinkNumber link, AgentSession& listening);

 private:
  struct Link {
    AgentSession* connecting;
    tree::LinkNumber number;
    AgentSession* listening;
  };
  void listen_to(AgentSession& session);

  std::vector<Link> links_;
};

}  // namespace rdcp::cli
