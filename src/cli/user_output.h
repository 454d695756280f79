// What a program with agents tells its user, who may take his time to read it (a pager).
#pragma once

#include <string_view>
#include <vector>

#include "cli/agent_link.h"
#include "io/result.h"

namespace rdcp::cli {

// Where it has to be waited for the reader, agents are told not to wait for our beats meanwhile; they wait
// themselves when the channel to us is full. A signal that is to end us ends the wait, and the rest of the
// text is lost. links: null ones are left out. hurried: such a signal has been taken already.
io::Result<void> print_out(std::string_view text, const std::vector<AgentLink*>& links);
void print_error(std::string_view text, const std::vector<AgentLink*>& links, bool hurried = false);

}  // namespace rdcp::cli
