// A process that waits for the agent's end, and ends the command of an agent that was killed and cannot do so
// itself.
#pragma once

#include <sys/types.h>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::tree {

// The guard is a member of the command's process group, so the group's number cannot become another group's
// while the guard is there. SIGTERM does not end the guard; SIGKILL to the group does. Not thread-safe.
class CommandGuard {
 public:
  CommandGuard() = default;
  CommandGuard(CommandGuard&& other) noexcept;
  CommandGuard& operator=(CommandGuard&&) = delete;
  ~CommandGuard() { release(); }

  // Starts the guard. group: must exist, and its leader must not have been reaped. input: the write end of
  // the pipe that is the command's input, or -1. The guard holds it open, so that a command whose agent was
  // killed does not take a part of its input for all of it: the command is ended before its input is.
  static io::Result<CommandGuard> start(pid_t group, int input);
  // Makes the guard close the command's input.
  void end_input();
  // Ends the guard, leaves the group as it is, and returns when the guard is gone.
  void release();

 private:
  void tell(char word);

  pid_t pid_ = -1;
  io::Fd socket_;
};

}  // namespace rdcp::tree
