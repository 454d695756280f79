// rdrecv: an agent to which a stranger who knows KEY may send one stream.
#pragma once

#include "cli/pipes/pipe_options.h"

namespace rdcp::cli {

// Returns the exit status (exit_status.h).
int run_receive(PipeOptions options);

}  // namespace rdcp::cli
