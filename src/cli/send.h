// rdsend: a coordinator with a source agent of its own, whose target agent is somebody's rdrecv.
#pragma once

#include "cli/pipe_options.h"

namespace rdcp::cli {

// The exit status (exit_status.h).
int run_send(PipeOptions options);

}  // namespace rdcp::cli
