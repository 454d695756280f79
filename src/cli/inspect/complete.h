// `rdcp --complete HOST:PATH`: names for the completion of a path on another host, which shells ask for.
#pragma once

#include "cli/options/options.h"

namespace rdcp::cli {

// Prints what begins with the path there, as the shell's user has written it, a name a line; directories have
// a slash at their end. Asks for no password, and puts nothing on the host. Returns the exit status
// (exit_status.h).
int run_complete(const Options& options, int signal_fd);

}  // namespace rdcp::cli
