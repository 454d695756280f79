// Makes a copy again that has lost a host.
#pragma once

#include "cli/copy/copy_request.h"

namespace rdcp::cli {

// Makes the copy. If it has begun and then loses its connections or an agent, it is made again, as if the
// user ran the same command again, `retries` times at most: after 1 s, and after twice as long each further
// time, up to 32 s. Then a host that cannot be reached is no end, either. What comes from standard input or
// goes to standard output is copied once. A signal ends the wait, and then the copy. Returns the exit status
// of the last one (exit_status.h), and says on standard error what becomes of the copy, and how to go on with
// it. signal_fd: as of Coordinator.
int copy_with_retries(const CopyRequest& request, int signal_fd, unsigned retries);

}  // namespace rdcp::cli
