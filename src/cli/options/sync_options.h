// The options of --sync, and the check of which of them go together.
#pragma once

#include "cli/options/command_line.h"
#include "cli/options/options.h"
#include "io/result.h"

namespace rdcp::cli {

// itemize_names: the names of --itemize-changes, with "-i" unless that letter is ssh's.
void add_sync_options(CommandLine& line, Options& options, const char* itemize_names);
// Checks the options once the operands are known, and turns on options.recursive for --sync. Errors (usage):
// they contradict each other or the operands, or are given without --sync.
io::Result<void> check_sync_options(Options& options);

}  // namespace rdcp::cli
