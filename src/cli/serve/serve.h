// Runs this process as the agent of whoever has started it.
#pragma once

#include <string>

namespace rdcp::cli {

// Serves the coordinator on standard input and output until the job is over, and returns the exit status. It
// does not return if a part of the job hangs in the kernel: the process ends, with kExitFiles. Call
// set_up_process() before. landlock: whether the kernel holds the agent to its job. note: what users of -v
// are told of this host; empty: nothing.
int serve_coordinator(bool landlock, std::string note = {});

// Returns the SHA-256 of a file as sha256sum(1) prints it, or nothing if it cannot be read. Hosts that have
// no sha256sum check their agent with it.
std::string sum_line_of(const char* path);

}  // namespace rdcp::cli
