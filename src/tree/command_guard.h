// Ends a command whose agent can do so no more, because it was killed itself: a process that waits for the
// agent's end.
#pragma once

#include <sys/types.h>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::tree {

// The guard is one of the command's process group, so that the group's number is nobody else's as long as it
// is there. SIGTERM does not end it; who ends the group by SIGKILL ends it, too. One thread.
class CommandGuard {
 public:
  CommandGuard() = default;
  CommandGuard(CommandGuard&& other) noexcept;
  CommandGuard& operator=(CommandGuard&&) = delete;
  ~CommandGuard() { release(); }

  // group: is there, and its leader has not been reaped. input: the pipe's end from which the command's input
  // comes, or -1. The guard holds it, so that a command whose agent was killed does not take what it has got
  // for all: it is ended before its input is.
  static io::Result<CommandGuard> start(pid_t group, int input);
  // Gives up its hold on the command's input.
  void end_input();
  // It goes, and leaves the group as it is. Returns when it is gone.
  void release();

 private:
  void tell(char word);

  pid_t pid_ = -1;
  io::Fd socket_;
};

}  // namespace rdcp::tree
