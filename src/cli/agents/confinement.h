// The confinement of an agent, as --no-landlock leaves it.
#pragma once

#include "cli/options/remote_shell.h"
#include "tree/agent/agent_config.h"

namespace rdcp::cli {

// Returns `wanted`, or none with --no-landlock.
inline tree::Confinement confinement(const RemoteShell& shell, tree::Confinement wanted) {
  return shell.landlock ? wanted : tree::Confinement::none;
}

}  // namespace rdcp::cli
