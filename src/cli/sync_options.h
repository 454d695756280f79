// The options of --sync, and what goes together of them.
#pragma once

#include "cli/command_line.h"
#include "cli/options.h"
#include "io/result.h"

namespace rdcp::cli {

void add_sync_options(CommandLine& line, Options& options);
// After the operands are known. Without --sync none of its options makes sense.
io::Result<void> check_sync_options(Options& options);

}  // namespace rdcp::cli
