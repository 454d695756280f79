// The command that starts an agent on another host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options/location.h"
#include "cli/options/remote_shell.h"

namespace rdcp::cli {

// Quotes rdcp_path for the remote shell, except for a leading "~/" or "~user/", which the shell must see
// unquoted.
std::string quote_rdcp_path(std::string_view rdcp_path);

// Returns the command that starts an agent at `location`, which must be remote: with ssh
// `ssh OPTIONS... -- [USER@]HOST "rdcp --agent"`, with another program `CMD... [USER@]HOST rdcp --agent`.
// --no-landlock follows if shell.landlock is false.
std::vector<std::string> agent_command(const RemoteShell& shell, const Location& location);

}  // namespace rdcp::cli
