// The command that starts an agent on another host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/launch/way_in.h"
#include "cli/options/remote_shell.h"
#include "cli/places/location.h"

namespace rdcp::cli {

// Quotes rdcp_path for the remote shell, except for a leading "~/" or "~user/", which the shell must see
// unquoted.
std::string quote_rdcp_path(std::string_view rdcp_path);

// Returns the command that starts an agent at `location`, which must be remote: with ssh
// `ssh OPTIONS... -- [USER@]HOST WAY_IN`, or "PATH --agent" instead of the way in where --rdcp-path is given;
// with another program `CMD... [USER@]HOST rdcp --agent`, and with srun and kubectl as launcher_command()
// does. way.agent_options follow.
std::vector<std::string> agent_command(const RemoteShell& shell, const Location& location, const WayIn& way);

// Returns the command that prints the configuration which ssh would have for this location, which must be
// remote (ssh(1), -G).
std::vector<std::string> configuration_command(const RemoteShell& shell, const Location& location);

// True if the other host is searched for an agent, and ours may be put there.
bool looks_around(const RemoteShell& shell);

}  // namespace rdcp::cli
