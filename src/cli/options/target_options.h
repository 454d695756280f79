// The options that ask the target for more than a copy: --mkpath, --backup, --link-dest.
#pragma once

#include "io/result.h"

namespace rdcp::cli {

class CommandLine;
struct Options;

void add_target_options(CommandLine& line, Options& options);
// Checks what they go with, and has a copy with -r compare where they need that. Errors (usage): nothing is
// copied; DST is a stream; a backup would have no name of its own, or one outside DST.
io::Result<void> check_target_options(Options& options);

}  // namespace rdcp::cli
