// rdcp --check: compares, and changes nothing.
#pragma once

#include "cli/options/options.h"

namespace rdcp::cli {

// Compares SRC with DST, or a tree with a list of digests. Returns the exit status: 0 no difference, 1 some
// (or something could not be read), else as exit_status.h says.
int run_check(const Options& options, int signal_fd);

}  // namespace rdcp::cli
