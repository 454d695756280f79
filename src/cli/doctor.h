// `rdcp --doctor [HOST]`: says of this host and another one what stands in the way of fast copies.
#pragma once

#include "cli/options.h"

namespace rdcp::cli {

// Prints the report to stdout. kExitOk: no problem; kExitFiles: some; kExitUnreachable: HOST did not answer,
// and the report says why; kExitSignalBase + N. signal_fd: as Coordinator takes it.
int run_doctor(const Options& options, int signal_fd);

}  // namespace rdcp::cli
