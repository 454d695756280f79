// rdrecv: an agent that a stranger who knows KEY may send one stream to.
#pragma once

#include "cli/pipe_options.h"

namespace rdcp::cli {

// The exit status (exit_status.h).
int run_receive(PipeOptions options);

}  // namespace rdcp::cli
