// Sends the bytes of an agent to the host that asked for it.
#pragma once

#include <atomic>
#include <memory>

#include "io/fd.h"
#include "io/result.h"
#include "io/thread.h"

namespace rdcp::cli {

// Writes a file to a pipe in a thread of its own, so that its coordinator goes on listening meanwhile.
class Delivery {
 public:
  static io::Result<std::unique_ptr<Delivery>> start(io::Fd file, io::Fd to);
  // Waits for the thread, which ends at once where the pipe's reader has ended.
  ~Delivery() { thread_.join(); }

  // True until all is written, or nobody takes it any more.
  bool under_way() const { return under_way_; }

 private:
  Delivery(io::Fd file, io::Fd to) : file_(std::move(file)), to_(std::move(to)) {}
  void run();

  io::Fd file_;
  io::Fd to_;
  std::atomic<bool> under_way_{true};
  io::Thread thread_;
};

}  // namespace rdcp::cli
