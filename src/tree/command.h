// A command line of the user's, run by the user's shell in a process group of its own.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::tree {

// Ended and reaped when it is destroyed, by force if need be. One thread, and the same one all the time: the
// kernel ends the shell with the thread that started it.
class Command {
 public:
  // input, output: what its descriptors 0 and 1 become; the caller's. Standard error is ours.
  static io::Result<std::unique_ptr<Command>> start(const std::string& text, int input, int output,
                                                    mode_t umask);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  // Readable once the shell has ended.
  int ended_fd() const { return ended_fd_.get(); }
  // As a shell has it in "$?"; none while it runs.
  std::optional<int> status() const;
  // Ends all of the group: SIGTERM, and SIGKILL for what is left after `grace`.
  void end(std::chrono::milliseconds grace = std::chrono::milliseconds(1000));
  // What it left running in the background is not ours to end any more.
  void let_go() { ours_ = false; }

 private:
  Command() = default;
  bool wait_for_end(std::chrono::steady_clock::time_point until) const;
  void reap();

  pid_t pid_ = -1;
  bool ours_ = true;
  bool reaped_ = false;
  io::Fd ended_fd_;
  std::atomic<int> status_{-1};
  std::thread waiter_;
};

}  // namespace rdcp::tree
