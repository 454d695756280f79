// Asks one agent something, without a copy: --doctor, --clean.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/agents/agent_link.h"
#include "cli/agents/user_output.h"
#include "cli/options/options.h"

namespace rdcp::cli {

class Visit {
 public:
  // options must outlive this. what: what is done there, for messages: "examine".
  Visit(const Options& options, int signal_fd, std::string what);

  void begin(std::unique_ptr<AgentLink> link) { link_ = std::move(link); }
  // Waits up to half a second for the agent or a signal, and takes what has come. Errors: a signal
  // (interrupted), or the agent is gone or has been silent for too long.
  io::Result<void> turn();
  // Takes a signal. Ctrl-Z stops this process after the agent was told not to expect beats; any other signal
  // ends the visit (an error of kind interrupted).
  io::Result<void> take_signal();
  // Ends the agent, if there is one; by force unless completed.
  void end(bool completed);

  // Prints a line on standard error.
  void print(std::string_view text) { print_error(text, {link_.get()}, signal_ != 0); }

  AgentLink& link() { return *link_; }
  int signal() const { return signal_; }  // the one that ended the visit; 0: none

 private:
  const Options& options_;
  const int signal_fd_;
  const std::string what_;
  const bool has_terminal_;
  std::unique_ptr<AgentLink> link_;
  int signal_ = 0;
};

}  // namespace rdcp::cli
