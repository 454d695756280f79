// Makes a copy again that has lost a host.
#pragma once

#include <chrono>

#include "cli/copy/copy_request.h"

namespace rdcp::cli {

// The pauses before the tries to go on with a copy that has lost a host: one second, then twice as long each
// time.
class RetryPauses {
 public:
  // request: outlives this.
  RetryPauses(const CopyRequest& request, int signal_fd, unsigned retries)
      : request_(request), signal_fd_(signal_fd), retries_(retries) {}
  // Says that it goes on, and waits until then, or for a signal, which stays where it is. Returns false if
  // there are no more tries, or the copy cannot be gone on with.
  bool wait();

 private:
  const CopyRequest& request_;
  const int signal_fd_;
  const unsigned retries_;
  unsigned retry_ = 0;
  std::chrono::seconds pause_{1};
};

// Makes the copy. If it has begun and then loses its connections or an agent, it is made again, as if the
// user ran the same command again, `retries` times at most: after 1 s, and after twice as long each further
// time, up to 32 s. Then a host that cannot be reached is no end, either. What comes from standard input or
// goes to standard output is copied once. If nothing came through although a port had answered, it is made
// again at once, with the data through ssh, whatever `retries`. A signal ends the wait, and then the copy.
// Returns the exit status of the last one (exit_status.h), and says on standard error what becomes of the
// copy, and how to go on with it. signal_fd: as of Coordinator.
int copy_with_retries(CopyRequest request, int signal_fd, unsigned retries);

}  // namespace rdcp::cli
