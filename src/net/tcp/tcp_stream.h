// The common part of the TCP stream's two sides. For use within net only.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "io/fd.h"
#include "io/step.h"
#include "io/task.h"
#include "net/stream/record_layer.h"
#include "net/stream/stream.h"
#include "net/tcp/tcp.h"

namespace rdcp::net {

// Holds the socket and the two coroutines that pump bytes out of this side and into it. System calls are made
// directly; only waiting goes through the ring.
class TcpStream : public Stream {
 public:
  void start() override;
  bool idle() const override { return !held() && pump_out_.done() && pump_in_.done(); }
  std::string description() const override { return description_; }
  bool sealed() const override { return record_layer_.seals(); }
  void check_connection(io::Clock::time_point now) override;

 protected:
  TcpStream(io::Ring& ring, Side side, TcpConnection connection, const StreamShape& shape,
            RecordLayer record_layer);

  virtual io::Task pump_out() = 0;
  virtual io::Task pump_in() = 0;

  // Shuts the socket down and wakes both pumps; polls of a socket that is shut down end at once.
  void close_connection() override;

  // Shuts the stream because of what the peer sent.
  void refuse(const io::Error& error) { shut_for(peer_error(error.kind, error.detail)); }

  RecordLayer& record_layer() { return record_layer_; }
  const RecordLayer& record_layer() const { return record_layer_; }
  int socket() const { return socket_.get(); }
  io::WaitList& out_waits() { return out_waits_; }
  // Takes the listener's welcome, if one is awaited, which pump_in does first. Returns false if the stream is
  // shut before.
  io::Step<bool> welcomed();
  // Waits until the socket may be ready for events, or is shut down.
  io::Operation ready(short events) { return ring().poll(socket_.get(), events); }

  // Judges a send or receive that moved nothing. Returns true if it should be tried again once the socket is
  // ready. Otherwise the connection is at its end, and the stream is shut unless it is over. `moved` is zero
  // at the end of the stream of bytes.
  bool try_later(ssize_t moved, int code);
  // Returns true if the wait succeeded; otherwise shuts the stream.
  bool waited(const io::IoResult& result);

 private:
  // Takes what has come of the welcome. Returns false if more is to come, or the stream is shut.
  bool take_welcome();
  static std::string describe(Side side, int socket);

  RecordLayer record_layer_;
  io::Fd socket_;
  std::optional<Mac> welcome_;                 // that is awaited
  std::array<std::byte, kWelcomeBytes> came_;  // of it; the first came_bytes_
  std::size_t came_bytes_ = 0;
  const io::Clock::time_point since_ = io::Clock::now();
  std::string description_;  // made while the socket still knows its peer
  io::WaitList out_waits_;   // pump_out waits here while it has nothing to send
  io::Task pump_out_;
  io::Task pump_in_;
};

}  // namespace rdcp::net
