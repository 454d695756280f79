// rdcp --check: compares, and changes nothing.
#pragma once

#include "cli/options/options.h"
#include "cli/text/json_report.h"

namespace rdcp::cli {

// Compares SRC with DST, or a tree with a list of digests. Returns the exit status: 0 no difference, 1 some
// (or something could not be read), else as exit_status.h says.
// json: is told of problems and counts, and makes the last line afterwards; may be nullptr.
int run_check(const Options& options, int signal_fd, JsonReport* json);

}  // namespace rdcp::cli
