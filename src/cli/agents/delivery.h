// Sends the bytes of an agent to the host that asked for it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "io/fd.h"
#include "io/result.h"
#include "io/thread.h"

namespace rdcp::cli {

// Writes a file to a pipe in a thread of its own, so that its coordinator goes on listening meanwhile.
class Delivery {
 public:
  using Clock = std::chrono::steady_clock;

  static io::Result<std::unique_ptr<Delivery>> start(io::Fd file, io::Fd to);
  // Waits for the thread, which ends at once where the pipe's reader has ended.
  ~Delivery() { thread_.join(); }

  // Returns when the pipe has last taken some of it, or when it was started.
  Clock::time_point taken() const { return Clock::time_point(Clock::duration(taken_.load())); }

 private:
  Delivery(io::Fd file, io::Fd to) : file_(std::move(file)), to_(std::move(to)) {}
  void run();

  io::Fd file_;
  io::Fd
      to_;  // is closed when all is written: who reads must see the end when its coordinator closes its own
  std::atomic<Clock::rep> taken_{Clock::now().time_since_epoch().count()};
  io::Thread thread_;
};

}  // namespace rdcp::cli
