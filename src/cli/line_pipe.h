// What another program says on its standard error, in lines that name who says it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "io/descriptors.h"
#include "io/fd.h"
#include "io/result.h"
#include "io/thread.h"

namespace rdcp::cli {

// Prints each line that comes out of a pipe on our standard error, with a prefix, in a thread of its own. So
// nothing that a far host says looks as if rdcp had said it. A carriage return ends a line, too: ssh ends its
// own with both, and a progress display has nothing else. Passwords and host keys are asked for on the
// terminal itself, which ssh opens.
class LinePipe {
 public:
  static io::Result<std::unique_ptr<LinePipe>> start(const std::string& prefix);
  ~LinePipe() { finish(true); }

  // What the program is to have as standard error.
  int fd() const { return to_.get(); }
  // It has it now.
  void let_go() { to_.reset(); }
  // Prints what is there, the beginning of a line, too, and no more: what the program has left running may
  // hold the pipe for ever. hurried: no reader of ours is waited for. Idempotent.
  void finish(bool hurried = false);

 private:
  explicit LinePipe(std::string prefix) : prefix_(std::move(prefix)) {}
  void run();
  bool read_some();
  void take(std::string_view bytes);
  void end_line();
  void print();

  const std::string prefix_;
  io::Fd from_;
  io::Fd to_;
  io::Event over_;
  std::atomic<bool> hurried_{false};
  io::Thread thread_;
  // Of the thread.
  std::string lines_;  // whole ones, with prefixes, not printed yet
  std::string line_;
  bool returned_ = false;  // the last character was a carriage return
};

}  // namespace rdcp::cli
