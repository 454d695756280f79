// Asking one agent something, without a copy: --doctor, --clean.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/agent_link.h"
#include "cli/options.h"
#include "cli/user_output.h"

namespace rdcp::cli {

class Visit {
 public:
  // options: outlive this. what: for messages, "examine".
  Visit(const Options& options, int signal_fd, std::string what);

  void begin(std::unique_ptr<AgentLink> link) { link_ = std::move(link); }
  // One round of waiting for the agent, a signal, or the end of our patience. Errors: a signal (interrupted),
  // or the agent is gone or silent.
  io::Result<void> turn();
  // Ctrl-Z stops us, and the agent is told that it will hear nothing; other signals end the visit.
  io::Result<void> take_signal();
  // Takes leave of the agent, if there is one; completed: it need not be hurried.
  void end(bool completed);

  // A line for the user.
  void print(std::string_view text) { print_error(text, {link_.get()}, signal_ != 0); }

  AgentLink& link() { return *link_; }
  int signal() const { return signal_; }  // that ended it; 0: none

 private:
  const Options& options_;
  const int signal_fd_;
  const std::string what_;
  const bool has_terminal_;
  std::unique_ptr<AgentLink> link_;
  int signal_ = 0;
};

}  // namespace rdcp::cli
