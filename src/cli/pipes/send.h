// rdsend: a coordinator with a source agent of its own. Its target agent is somebody's rdrecv.
#pragma once

#include "cli/pipes/pipe_options.h"

namespace rdcp::cli {

// Returns the exit status (exit_status.h).
int run_send(PipeOptions options);

}  // namespace rdcp::cli
