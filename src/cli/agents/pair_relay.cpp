#include "cli/agents/pair_relay.h"

namespace rdcp::cli {

void PairRelay::join(AgentSession& connecting, tree::LinkNumber link, AgentSession& listening) {
  links_.push_back({&connecting, link, &listening});
  listen_to(connecting);
  listen_to(listening);
}

// One agent may connect by some links and listen by another.
void PairRelay::listen_to(AgentSession& session) {
  session.on<tree::PairOffered>([this, &session](const tree::PairOffered& said) {
    for (const Link& link : links_) {
      if (link.connecting != &session || link.number != said.link || link.listening->gone()) continue;
      link.listening->tell(tree::PairOffered{0, said.offer});
    }
  });
  session.on<tree::PairAnswered>([this, &session](const tree::PairAnswered& said) {
    for (const Link& link : links_) {
      if (link.listening != &session || link.connecting->gone()) continue;
      link.connecting->tell(tree::PairAnswered{link.number, said.answer});
    }
  });
}

}  // namespace rdcp::cli
