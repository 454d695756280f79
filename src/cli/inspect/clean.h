// `rdcp --clean DIR`: lists what interrupted runs have left, and removes it.
#pragma once

#include "cli/options/options.h"

namespace rdcp::cli {

// Returns the exit status (exit_status.h).
int run_clean(const Options& options, int signal_fd);

}  // namespace rdcp::cli
