// The ring over io_uring(7).
#pragma once

#include <liburing.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/ring.h"

namespace rdcp::io {

// Create, use and destroy it on one thread: with IORING_SETUP_SINGLE_ISSUER the kernel (6.0) refuses all
// others.
class Uring final : public Ring {
 public:
  // Fails where io_uring_setup(2) is refused or the kernel is older than 5.11.
  static Result<std::unique_ptr<Ring>> create(unsigned depth);
  ~Uring() override;

  std::string description() const override;
  void register_arena(std::span<std::byte> arena) override;
  void offer_arena(std::span<std::byte> arena) override;
  void keep_arena_unregistered() override;
  int attach(int fd) override;
  void detach(int index) override;

 protected:
  void submit(Operation& operation) override { queued_.push(operation); }
  Result<void> wait(Clock::duration max_wait) override;

 private:
  Uring() = default;
  Result<void> set_up(unsigned depth);
  void register_file_table();

  Result<void> fill_queue();
  void prepare(io_uring_sqe* sqe, Operation& operation);
  void prepare_transfer(io_uring_sqe* sqe, const Operation& operation);
  int buffer_index(const std::byte* data, std::size_t bytes) const;
  void reap();
  static long call_instead(const Operation& operation);
  void begin(Operation& operation);
  void end(Operation& operation);
  void cancel_all();

  io_uring ring_{};
  bool set_up_ = false;
  bool wake_poll_armed_ = false;
  WaiterQueue queued_;                  // operations that have no submission entry yet
  std::vector<Operation*> under_way_;   // submitted operations; each one's note() is its index here
  std::vector<int> free_file_indexes_;  // free entries of the registered-file table
  std::span<std::byte> arena_;          // empty if none is registered
  std::span<std::byte> offered_arena_;  // to be registered at the first transfer
  std::string arena_refusal_;
};

}  // namespace rdcp::io
