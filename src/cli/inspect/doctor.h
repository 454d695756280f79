// `rdcp --doctor [HOST]`: reports what on this host, another one or each of a list stands in the way of fast
// copies.
#pragma once

#include "cli/options/options.h"

namespace rdcp::cli {

// Prints the report to stdout. Returns kExitOk: no problem; kExitFiles: some, or stdout could not be written;
// kExitUnreachable: HOST, or every one of a list, did not answer, and the report says why; kExitSignalBase +
// N: signal N ended it. signal_fd: as for Coordinator.
int run_doctor(const Options& options, int signal_fd);

}  // namespace rdcp::cli
