// A command line of the user's, run by the user's shell in a process group of its own.
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
#include "tree/command_guard.h"

namespace rdcp::tree {

// Ended and reaped when it is destroyed, by force if need be; also by the end of our process, whatever ends
// it. One thread.
class Command {
 public:
  // input, output: what its descriptors 0 and 1 become; the caller's. Standard error is ours.
  // feed: the other end of a pipe that is its input, or -1. The end of it is the caller's to give
  // (end_input() and then close it); where our process is killed, the command is ended before it could see
  // one.
  static io::Result<std::unique_ptr<Command>> start(const std::string& text, int input, int output,
                                                    mode_t umask, int feed = -1);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  // Readable once the shell has ended.
  int ended_fd() const { return ended_.fd(); }
  // As a shell has it in "$?"; none while it runs.
  std::optional<int> status() const;
  // Ends all of the group: SIGTERM, and SIGKILL for what is left after `grace`.
  void end(std::chrono::milliseconds grace = std::chrono::milliseconds(1000));
  // From now on only the caller holds `feed`.
  void end_input() { guard_->end_input(); }
  // What it left running in the background is not ours to end any more.
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
