// The options that ask the target for more than a copy: --mkpath.
#pragma once

#include "io/result.h"

namespace rdcp::cli {

class CommandLine;
struct Options;

void add_target_options(CommandLine& line, Options& options);
// Checks what they go with. Errors (usage): nothing is copied; DST is a stream.
io::Result<void> check_target_options(const Options& options);

}  // namespace rdcp::cli
