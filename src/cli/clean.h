// `rdcp --clean DIR`: lists what runs that were cut short have left, and removes it.
#pragma once

#include "cli/options.h"

namespace rdcp::cli {

// The exit status.
int run_clean(const Options& options, int signal_fd);

}  // namespace rdcp::cli
