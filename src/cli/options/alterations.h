// Options by which a copy differs from its source: --chmod and --chown.
#pragma once

#include <string_view>
#include <vector>

#include "cli/options/command_line.h"
#include "cli/options/options.h"
#include "tree/messages/alterations.h"

namespace rdcp::cli {

void add_alteration_options(CommandLine& line, Options& options);
// Error (usage): they are given together with what they cannot change.
io::Result<void> check_alterations(const Options& options);

// Reads changes of modes as rsync and chmod(1) do, separated by commas: D755,F644,u+rwX,go-w. Changes that
// name nobody ("+w") leave the bits of the umask alone. Error (usage): a part makes no sense, and is named.
io::Result<std::vector<tree::ModeChange>> parse_mode_changes(std::string_view words, std::uint32_t umask);

// Returns what the options ask for.
tree::Alteration alteration_of(const Options& options);

}  // namespace rdcp::cli
