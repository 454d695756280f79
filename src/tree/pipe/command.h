// Runs a command line with the user's shell, in a process group of its own.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "io/descriptors.h"
#include "io/result.h"
#include "io/thread.h"
#include "tree/pipe/command_guard.h"

namespace rdcp::tree {

// The command is ended, by force if need be, and reaped when this is destroyed. It is also ended when our
// process ends, for whatever reason. Not thread-safe.
class Command {
 public:
  // input, output: what becomes its descriptors 0 and 1; they stay the caller's. Its standard error is ours.
  // feed: the write end of the pipe that is its input, or -1. Only the caller ends that input, by end_input()
  // and then closing `feed`: if our process is killed, the command is ended before it could see the end of
  // its input.
  static io::Result<std::unique_ptr<Command>> start(const std::string& text, int input, int output,
                                                    mode_t umask, int feed = -1);
  // Starts the thread that waits for the command's end, so that ended_fd() and status() tell of it. To be
  // called once. A command that is not watched is killed when this is destroyed.
  io::Result<void> watch();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  // Readable once the shell has ended.
  int ended_fd() const { return ended_.fd(); }
  // The exit status, as in a shell's "$?"; none while the shell runs.
  std::optional<int> status() const;
  // Ends the whole process group by SIGTERM, and what is left after `grace` by SIGKILL.
  void end(std::chrono::milliseconds grace = std::chrono::milliseconds(1000));
  // Makes the guard close `feed`, so that only the caller holds it.
  void end_input() { guard_->end_input(); }
  // Spares what the command, once it has ended, has left running in the background.
  void let_go() { ours_ = false; }

 private:
  Command() = default;
  bool wait_for_end(std::chrono::steady_clock::time_point until) const;
  void reap();
  void kill_unwatched();

  pid_t pid_ = -1;
  std::optional<CommandGuard> guard_;
  bool ours_ = true;
  bool reaped_ = false;
  io::Event ended_;
  std::atomic<int> status_{-1};
  io::Thread waiter_;
};

}  // namespace rdcp::tree
