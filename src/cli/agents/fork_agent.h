// Runs an agent as a copy of this process.
#pragma once

#include <sys/types.h>

#include "io/fd.h"
#include "io/result.h"
#include "tree/agent/agent_config.h"

namespace rdcp::cli {

struct ForkedAgent {
  io::Fd control_in;
  io::Fd control_out;
  int standard_error;        // becomes its descriptor 2, and stays the caller's
  tree::AgentConfig config;  // its signal_fd is made anew
};

// Starts the agent, and returns its process id. The agent keeps, of our descriptors, only those named here
// and in config.standard; it has no terminal (setsid(2)), so that what a peer may make of it can neither read
// a password nor type a command. It is killed when the thread that called this ends. To be called before
// there are other threads, because a lock that one of them holds would stay locked in the copy (fork(2)).
// Error (unreachable): there may be no more processes.
io::Result<pid_t> fork_agent(ForkedAgent agent);

}  // namespace rdcp::cli
