// Prints what another program writes to its standard error, in lines that name the program.
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
// nothing that another host says looks as if rdcp had said it. A carriage return ends a line, too: ssh ends
// its lines with both characters, and progress displays have nothing else. Questions about passwords and host
// keys do not come through the pipe, since ssh opens the terminal itself to ask them.
class LinePipe {
 public:
  static io::Result<std::unique_ptr<LinePipe>> start(const std::string& prefix);
  // The two steps of start(), between which a process may be forked: prepare() makes the pipe, begin() starts
  // the thread.
  static io::Result<std::unique_ptr<LinePipe>> prepare(const std::string& prefix);
  io::Result<void> begin();
  ~LinePipe() { finish(true); }

  // The write end of the pipe, for the program's standard error.
  int fd() const { return to_.get(); }
  // Closes our copy of the write end; to be called once the program has its own.
  void let_go() { to_.reset(); }
  // Prints what has been written so far, an unfinished line included, and ends the thread. It does not wait
  // for the pipe's end, because what the program has left running may hold the pipe open for ever. If
  // `hurried`, it does not wait for the reader of our standard error either. Idempotent.
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
  // Only the thread uses these.
  std::string lines_;  // whole lines with their prefixes, not printed yet
  std::string line_;
  bool returned_ = false;  // the last character was a carriage return
};

}  // namespace rdcp::cli
