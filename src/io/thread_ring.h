// The ring for machines where io_uring is forbidden: plain system calls on a few threads, and poll(2).
#pragma once

#include <poll.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "io/ring.h"
#include "io/thread.h"

namespace rdcp::io {

// Transfers run on the pool's threads, polls on the ring's own. A pipe or socket is given to the pool only
// once poll(2) has found it ready, so that no thread is ever stuck in it: other transfers need the thread,
// and the destructor joins it.
class ThreadRing final : public Ring {
 public:
  // `reason` tells description() why io_uring is not used; it may be empty.
  static Result<std::unique_ptr<Ring>> create(unsigned depth, std::string_view reason);
  ~ThreadRing() override;

  std::string description() const override;
  void register_arena(std::span<std::byte>) override {}
  int attach(int) override { return -1; }
  void detach(int) override {}

 protected:
  void submit(Operation& operation) override;
  Result<void> wait(Clock::duration max_wait) override;

 private:
  explicit ThreadRing(std::string_view reason) : reason_(reason) {}
  Result<void> start_threads(unsigned count);
  void work();
  Operation* next_pending();
  void give_to_pool(Operation& operation);
  void poll_once(Operation& operation);
  void take_polled();
  bool take_finished();

  std::string reason_;
  std::vector<pollfd> poll_fds_;  // the first is wake_fd(), the others belong to polled_
  std::vector<Operation*> polled_;

  std::mutex mutex_;
  std::condition_variable changed_;  // pending_ or stopping_ has changed
  WaiterQueue pending_;
  WaiterQueue finished_;  // each one's note() is its system call's result
  bool stopping_ = false;
  std::vector<Thread> threads_;
};

}  // namespace rdcp::io
