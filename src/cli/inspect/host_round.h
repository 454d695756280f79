// Asks several hosts the same thing at the same time.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "cli/agents/latecomers.h"
#include "cli/inspect/inquiry.h"
#include "cli/options/options.h"

namespace rdcp::cli {

// A host that does not answer does not keep the others from being asked. Life: run() once. Not thread-safe.
class HostRound {
 public:
  struct Host {
    Location place;
    AgentSession* session = nullptr;  // until it is not needed any more, or the host was left
    bool asked = false;
    bool has_answered = false;
    std::optional<io::Error> error = {};  // why it was left
  };
  // Has the agent say what is wanted, and hears it: answered() follows.
  using Ask = std::function<void(std::size_t index, AgentSession& session)>;

  // A place on this host has an agent in this process. Both references outlive this.
  HostRound(const RemoteShell& shell, Inquiry& inquiry, const std::vector<Location>& places, Ask ask);

  // Starts the agents, as many logins at a time as one coordinator makes, and returns when each host has
  // answered or was left. Errors: a signal, or one that was given to the inquiry.
  io::Result<void> run();
  // To be called when the host has said all.
  void answered(std::size_t index) { hosts_[index].has_answered = true; }
  // Ends the session with the host, for this reason.
  void leave(std::size_t index, const io::Error& error);
  // Ends the session with a host that has said all.
  void finish(std::size_t index);
  const std::deque<Host>& hosts() const { return hosts_; }

 private:
  void start(std::size_t index);
  bool is_over(std::size_t index);
  bool all_over();
  void leave_late();

  const RemoteShell& shell_;
  Inquiry& inquiry_;
  Ask ask_;
  Latecomers latecomers_;
  std::deque<Host> hosts_;
};

}  // namespace rdcp::cli
