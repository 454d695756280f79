// The command that starts an agent on another host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/location.h"
#include "cli/options.h"

namespace rdcp::cli {

// rdcp_path as a word for the remote shell: quoted, but for a leading "~/" or "~user/", which the shell must
// see as it is.
std::string quote_rdcp_path(std::string_view rdcp_path);

// What to execute for an agent at `location` (remote). ssh: `ssh OPTIONS... -- [USER@]HOST "rdcp --agent"`;
// another command: `CMD... [USER@]HOST rdcp --agent`.
std::vector<std::string> agent_command(const Options& options, const Location& location);

}  // namespace rdcp::cli
