// Prints for a user who may take time to read (with a pager), while agents wait.
#pragma once

#include <string_view>
#include <vector>

#include "cli/agents/agent_session.h"
#include "io/result.h"

namespace rdcp::cli {

// If these must wait for the reader, they tell the agents first that no beats will come meanwhile; the agents
// wait, too, when the channel to us is full. A signal that is to end us ends the wait, and the rest of the
// text is lost. hurried: such a signal has been taken already.
io::Result<void> print_out(std::string_view text, const std::vector<AgentSession*>& sessions);
void print_error(std::string_view text, const std::vector<AgentSession*>& sessions, bool hurried = false);

}  // namespace rdcp::cli
