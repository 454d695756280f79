// Runs this process as the agent of whoever has started it.
#pragma once

namespace rdcp::cli {

// Serves the coordinator on standard input and output until the job is over, and returns the exit status. It
// does not return if a part of the job hangs in the kernel: the process ends, with kExitFiles. Call
// set_up_process() before. landlock: whether the kernel holds the agent to its job.
int serve_coordinator(bool landlock);

}  // namespace rdcp::cli
