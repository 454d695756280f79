// The commands of programs, other than ssh and its like, that run a command on another host.
#pragma once

#include <string>
#include <vector>

#include "cli/options/remote_shell.h"
#include "io/result.h"

namespace rdcp::cli {

// Returns the command that has a shell on `host` read this line, for srun or kubectl: `srun OPTIONS...
// --nodelist=HOST /bin/sh -c LINE` or `kubectl exec OPTIONS... -i HOST -- /bin/sh -c LINE`. No shell splits
// the line before. It begins in the home directory there, as one that ssh starts does.
std::vector<std::string> launcher_command(const RemoteShell& shell, const std::string& host,
                                          const std::string& line);

// Returns why a command that was started so has ended with status 1, or nothing for other programs, which
// have no such status of their own.
std::string launcher_failure(const RemoteShell& shell);

// Says what the launcher lacks here: its program or, for srun, a job. Error (usage). ssh and --rsh's programs
// lack nothing that can be known before they are started.
io::Result<void> check_launcher(const RemoteShell& shell);

}  // namespace rdcp::cli
