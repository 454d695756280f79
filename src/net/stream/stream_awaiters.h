// The awaiters that a stream's calls return. Each lives in the frame of the coroutine that awaits it. This is
// the second half of net/stream/stream.h, which includes it: include that one.
//
// A slot or frame that comes free is handed to one certain waiter, in the order in which they came, so a
// resumed waiter always has what it waited for.
#pragma once

#include <coroutine>
#include <cstdint>
#include <optional>
#include <span>

#include "io/ring.h"
#include "io/task.h"
#include "net/stream/frame.h"

namespace rdcp::net {

// The common part of the four awaiters: who waits on which stream, and since when.
class StreamAwaiter : public io::Waiter {
 public:
  StreamAwaiter(const StreamAwaiter&) = delete;
  StreamAwaiter& operator=(const StreamAwaiter&) = delete;

 protected:
  explicit StreamAwaiter(Stream& stream) : stream_(stream) {}
  void begin_wait(std::coroutine_handle<> waiter) {
    handle = waiter;
    since_ = io::Clock::now();
  }
  // Returns how long it has waited, or zero if there was nothing to wait for.
  std::uint64_t waited_ns() const;

  Stream& stream_;

 private:
  std::optional<io::Clock::time_point> since_;
};

class Stream::CreditAwaiter : public StreamAwaiter {
 public:
  explicit CreditAwaiter(Stream& stream) : StreamAwaiter(stream) {}
  bool await_ready();
  void await_suspend(std::coroutine_handle<> waiter);
  io::Result<std::uint32_t> await_resume();

 private:
  friend class Stream;
  std::optional<std::uint32_t> slot_;
};

class Stream::SendAwaiter : public StreamAwaiter {
 public:
  SendAwaiter(Stream& stream, const Frame& frame, std::span<const std::byte> payload);
  bool await_ready() const;
  void await_suspend(std::coroutine_handle<> waiter);
  io::Result<void> await_resume();

  // These are for transports, which may wrap both (see RecordLayer).
  Frame& frame() { return frame_; }
  std::span<const std::byte>& payload() { return payload_; }

 private:
  Frame frame_;
  std::span<const std::byte> payload_;
};

class Stream::AckAwaiter : public StreamAwaiter {
 public:
  AckAwaiter(Stream& stream, std::uint32_t slot, Verdicts* verdicts);
  bool await_ready() const;
  void await_suspend(std::coroutine_handle<> waiter);
  io::Result<AckStatus> await_resume();

 private:
  std::uint32_t slot_;
  Verdicts* verdicts_;
};

class Stream::ReceiveAwaiter : public StreamAwaiter {
 public:
  explicit ReceiveAwaiter(Stream& stream) : StreamAwaiter(stream) {}
  bool await_ready();
  void await_suspend(std::coroutine_handle<> waiter);
  io::Result<std::optional<Frame>> await_resume();

 private:
  friend class Stream;
  std::optional<Frame> frame_;
};

// An awaiter that lets everything that is ready run first.
class Yield : public io::Waiter {
 public:
  explicit Yield(io::Ring& ring) : ring_(ring) {}
  Yield(const Yield&) = delete;
  Yield& operator=(const Yield&) = delete;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    handle = waiter;
    ring_.schedule(*this);
  }
  void await_resume() const {}

 private:
  io::Ring& ring_;
};

}  // namespace rdcp::net
