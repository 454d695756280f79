// The options of --sync, and what goes together of them.
#pragma once

#include "cli/command_line.h"
#include "cli/options.h"
#include "io/result.h"

namespace rdcp::cli {

// itemize_names: those of --itemize-changes, "-i,..." where that letter is not ssh's.
void add_sync_options(CommandLine& line, Options& options, const char* itemize_names);
// After the operands are known. Without --sync none of its options makes sense.
io::Result<void> check_sync_options(Options& options);

}  // namespace rdcp::cli
