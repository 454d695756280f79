// Accepts over TCP in a thread of its own, while RDMA connections are accepted elsewhere. The side that
// connects chooses the transport, so the side that listens waits for both.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "io/thread.h"
#include "net/tcp/tcp_connect.h"

namespace rdcp::tree {

// Any thread may call stop(), one thread the others.
class TcpBeside {
 public:
  // Takes the listener over, which is closed with this.
  explicit TcpBeside(net::TcpListener listener) : listener_(std::move(listener)) {}
  ~TcpBeside() { stop(); }

  // Accepts a job's first streams, until the call's deadline or stop. complete: is called, in the thread,
  // once all are there. Error: there is no thread.
  io::Result<void> begin(const net::TcpCall& call, std::uint16_t stream_count,
                         std::function<void()> complete);
  // Waits for the end of begin(), and returns the streams if all are there.
  std::optional<net::Sockets> first();
  // Gives the listener back, after first().
  net::TcpListener release() { return std::move(listener_); }
  // Accepts further streams, with numbers below `limit`, once begin() was stopped. came: is called, in the
  // thread, for each that take() returns then. Further calls do nothing. Error: there is no thread.
  io::Result<void> go_on(const net::HandshakeTerms& terms, std::uint16_t limit,
                         const net::TcpOptions& options, std::function<void()> came);
  std::optional<net::TcpListener::Further> take();
  // Ends what go_on() has begun; and what begin() has, if its call's stop is set.
  void stop();

 private:
  net::TcpListener listener_;
  std::atomic<bool> stop_{false};
  std::optional<net::Sockets> first_;  // read after its thread has ended
  bool goes_on_ = false;
  std::mutex mutex_;
  std::deque<net::TcpListener::Further> further_;  // that have come
  io::Thread thread_;
};

}  // namespace rdcp::tree
