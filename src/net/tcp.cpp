#include "net/tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "io/task.h"
#include "net/sockets.h"

namespace rdcp::net {
namespace {

// What both sides have: the socket and the two coroutines that pump bytes out of it and into it. System calls
// are made here and now; only waiting goes through the ring.
class TcpStream : public Stream {
 public:
  void start() override {
    pump_out_ = pump_out();
    pump_in_ = pump_in();
    pump_out_.start();
    pump_in_.start();
  }
  bool idle() const override { return pump_out_.done() && pump_in_.done(); }
  std::string description() const override { return description_; }
  void check_connection() override;

 protected:
  TcpStream(io::Ring& ring, Side side, io::Fd socket, const StreamShape& shape)
      : Stream(ring, side, shape, peer_address(socket.get()).text()),
        socket_(std::move(socket)),
        description_(describe(side, socket_.get())),
        out_waits_(ring) {}

  virtual io::Task pump_out() = 0;
  virtual io::Task pump_in() = 0;

  // Wakes both pumps; polls of a socket that is shut down end at once.
  void close_connection() override {
    ::shutdown(socket_.get(), SHUT_RDWR);
    out_waits_.wake_all();
  }

  int socket() const { return socket_.get(); }
  io::WaitList& out_waits() { return out_waits_; }
  // Waits until the socket may be ready for events, or is shut down.
  io::Operation ready(short events) { return ring().poll(socket_.get(), events); }

  // What a send or receive that moved nothing means: true when it is to be tried again once the socket is
  // ready. Else the connection is at its end, and unless the stream is over it is shut. `moved` is zero at
  // end of file.
  bool try_later(ssize_t moved, int code);
  // The same for a wait.
  bool waited(const io::IoResult& result);

 private:
  static std::string describe(Side side, int socket);

  io::Fd socket_;
  std::string description_;  // made while the socket still knows its peer
  io::WaitList out_waits_;   // pump_out, while it has nothing to send
  io::Task pump_out_;
  io::Task pump_in_;
};

std::string TcpStream::describe(Side side, int socket) {
  const std::string here = local_address(socket).text();
  const std::string there = peer_address(socket).text();
  return "tcp " + (side == Side::source ? here + " -> " + there : there + " -> " + here);
}

// TCP_USER_TIMEOUT would do this, but it also counts the time in which a living peer, stalled by its disk,
// keeps its window shut (Linux 5.11), and keepalive is silent while data is outstanding.
void TcpStream::check_connection() {
  tcp_info info{};
  socklen_t bytes = sizeof(info);
  if (over() || ::getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return;
  const std::chrono::milliseconds silent(info.tcpi_last_ack_recv);
  if (info.tcpi_unacked == 0 || silent <= kUnreachableMax) return;
  // Where only one direction is gone, the peer is told at once: an orderly end would wait behind the data
  // that nobody acknowledges, and by now these are sent again twice a minute at most.
  const linger reset{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  shut(peer_error(io::ErrorKind::connection, "does not answer any more"));
}

bool TcpStream::try_later(ssize_t moved, int code) {
  if (moved < 0 && (code == EAGAIN || code == EINTR)) return true;
  if (over()) return false;
  shut(moved == 0 ? peer_error(io::ErrorKind::connection, "closed the connection before the end")
                  : peer_errno(code));
  return false;
}

bool TcpStream::waited(const io::IoResult& result) {
  if (result.error == 0) return true;
  shut(io::errno_error("poll", "socket", result.error, io::ErrorKind::connection));
  return false;
}

// A frame and its payload on their way out.
class Outgoing {
 public:
  Outgoing(const Frame& frame, std::span<const std::byte> payload)
      : header_(encode(frame)), header_rest_(header_), payload_rest_(payload) {}
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  bool done() const { return header_rest_.empty() && payload_rest_.empty(); }

  ssize_t send_some(int socket) {
    // sendmsg(2) only reads what the vectors point at.
    std::array<iovec, 2> parts{{{const_cast<std::byte*>(header_rest_.data()), header_rest_.size()},
                                {const_cast<std::byte*>(payload_rest_.data()), payload_rest_.size()}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent > 0) advance(static_cast<std::size_t>(sent));
    return sent;
  }

 private:
  void advance(std::size_t bytes) {
    const std::size_t of_header = std::min(bytes, header_rest_.size());
    header_rest_ = header_rest_.subspan(of_header);
    payload_rest_ = payload_rest_.subspan(bytes - of_header);
  }

  FrameBytes header_;
  std::span<const std::byte> header_rest_;
  std::span<const std::byte> payload_rest_;
};

class TcpSource : public TcpStream {
 public:
  TcpSource(io::Ring& ring, io::Fd socket, const StreamShape& shape)
      : TcpStream(ring, Side::source, std::move(socket), shape) {}

 private:
  void post_send(SendAwaiter& awaiter) override {
    outgoing_.push(awaiter);
    out_waits().wake_one();
  }
  void post_credit(const Frame&) override { assert(false); }

  io::Task pump_out() override;
  io::Task pump_in() override;
  // Hands on the whole frames in arrived_; false when the stream is shut.
  bool take_arrived();
  // Sends a FIN after all that is on its way and ends pump_in's wait. The target owes nothing more, so
  // nothing arrives that a reset could answer.
  void finish() { ::shutdown(socket(), SHUT_RDWR); }

  static constexpr std::size_t kCreditsPerReceive = 32;
  io::WaiterQueue outgoing_;  // of SendAwaiter
  std::array<std::byte, kCreditsPerReceive * kFrameBytes> arrived_;
  std::size_t arrived_bytes_ = 0;
};

io::Task TcpSource::pump_out() {
  while (!shut_down() && !ended()) {
    auto* awaiter = static_cast<SendAwaiter*>(outgoing_.pop());
    if (awaiter == nullptr) {
      co_await out_waits().wait();
      continue;
    }
    Outgoing outgoing(awaiter->frame(), awaiter->payload());
    while (!shut_down() && !outgoing.done()) {
      const ssize_t sent = outgoing.send_some(socket());
      if (sent > 0) continue;
      if (!try_later(sent, errno)) break;
      const io::IoResult polled = co_await ready(POLLOUT);
      if (!waited(polled)) break;
    }
    complete_send(*awaiter);
  }
  if (over()) finish();
  while (auto* awaiter = static_cast<SendAwaiter*>(outgoing_.pop())) complete_send(*awaiter);
}

io::Task TcpSource::pump_in() {
  while (!shut_down()) {
    const std::span<std::byte> room = std::span(arrived_).subspan(arrived_bytes_);
    const ssize_t got = ::recv(socket(), room.data(), room.size(), 0);
    if (got > 0) {
      arrived_bytes_ += static_cast<std::size_t>(got);
      if (!take_arrived()) break;
      if (over()) break;
      continue;
    }
    if (!try_later(got, errno)) break;
    const io::IoResult polled = co_await ready(POLLIN);
    if (!waited(polled)) break;
  }
  if (over()) finish();
}

bool TcpSource::take_arrived() {
  std::size_t taken = 0;
  for (; arrived_bytes_ - taken >= kFrameBytes; taken += kFrameBytes) {
    const auto frame = decode(std::span<const std::byte, kFrameBytes>(arrived_.data() + taken, kFrameBytes));
    if (!frame) shut(peer_error(io::ErrorKind::protocol, frame.error().detail));
    if (!frame || !accept(*frame)) return false;
    deliver(*frame);
  }
  std::copy(arrived_.begin() + taken, arrived_.begin() + arrived_bytes_, arrived_.begin());
  arrived_bytes_ -= taken;
  return true;
}

// A frame and its payload on their way in. While a payload arrives, the room for the next header stands
// behind it, so that a stream of full slots costs one call where the data is there.
class Incoming {
 public:
  // The frame whose payload is arriving.
  const std::optional<Frame>& frame() const { return frame_; }
  bool payload_complete() const { return frame_ && payload_rest_.empty(); }
  bool header_complete() const { return !frame_ && header_bytes_ == kFrameBytes; }
  std::span<const std::byte, kFrameBytes> header() const { return header_; }

  void begin_payload(const Frame& frame, std::span<std::byte> slot) {
    frame_ = frame;
    payload_rest_ = slot;
    header_bytes_ = 0;
  }
  void end_payload() { frame_.reset(); }

  ssize_t receive_some(int socket) {
    std::array<iovec, 2> parts{{{payload_rest_.data(), payload_rest_.size()},
                                {header_.data() + header_bytes_, kFrameBytes - header_bytes_}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t got = ::recvmsg(socket, &message, 0);
    if (got > 0) advance(static_cast<std::size_t>(got));
    return got;
  }

 private:
  void advance(std::size_t bytes) {
    const std::size_t of_payload = std::min(bytes, payload_rest_.size());
    payload_rest_ = payload_rest_.subspan(of_payload);
    header_bytes_ += bytes - of_payload;
  }

  std::optional<Frame> frame_;
  std::span<std::byte> payload_rest_;
  FrameBytes header_;
  std::size_t header_bytes_ = 0;
};

class TcpTarget : public TcpStream {
 public:
  TcpTarget(io::Ring& ring, io::Fd socket, const StreamShape& shape, io::Arena& arena)
      : TcpStream(ring, Side::target, std::move(socket), shape),
        arena_(arena),
        credits_(shape.target_slots * kFrameBytes) {
    assert(shape.target_slots <= arena.slot_count() && shape.slot_bytes <= arena.slot_bytes());
  }

  void start() override {
    grant_all();
    TcpStream::start();
  }

 private:
  void post_send(SendAwaiter&) override { assert(false); }
  void post_credit(const Frame& credit) override;

  io::Task pump_out() override;
  io::Task pump_in() override;
  // Looks at a header that has arrived whole; false when the stream is shut.
  bool take_header();
  void drop_sent(std::size_t bytes);

  io::Arena& arena_;
  Incoming incoming_;
  std::vector<std::byte> credits_;  // encoded, not yet handed to the kernel: the first credit_bytes_
  std::size_t credit_bytes_ = 0;
};

void TcpTarget::post_credit(const Frame& credit) {
  // One frame a slot is room enough for a source that uses a slot only after it has read the credit for it.
  if (credits_.size() - credit_bytes_ < kFrameBytes) {
    shut(peer_error(io::ErrorKind::protocol, "sent a chunk for a slot whose credit it had not read"));
    return;
  }
  std::ranges::copy(encode(credit), credits_.begin() + static_cast<std::ptrdiff_t>(credit_bytes_));
  credit_bytes_ += kFrameBytes;
  out_waits().wake_one();
}

void TcpTarget::drop_sent(std::size_t bytes) {
  std::copy(credits_.begin() + static_cast<std::ptrdiff_t>(bytes),
            credits_.begin() + static_cast<std::ptrdiff_t>(credit_bytes_), credits_.begin());
  credit_bytes_ -= bytes;
}

// All credits that gathered since the last turn leave in one call.
io::Task TcpTarget::pump_out() {
  while (!shut_down()) {
    if (credit_bytes_ == 0) {
      if (over()) break;
      co_await out_waits().wait();
      continue;
    }
    const ssize_t sent = ::send(socket(), credits_.data(), credit_bytes_, MSG_NOSIGNAL);
    if (sent > 0) {
      drop_sent(static_cast<std::size_t>(sent));
      continue;
    }
    if (sent == 0 || !try_later(sent, errno)) break;
    const io::IoResult polled = co_await ready(POLLOUT);
    if (!waited(polled)) break;
  }
  ::shutdown(socket(), SHUT_WR);
}

io::Task TcpTarget::pump_in() {
  while (!shut_down() && !ended()) {
    if (incoming_.payload_complete()) {
      deliver(*incoming_.frame());
      incoming_.end_payload();
      // The chunk is in the cache now: let its receiver look at it before the next one arrives.
      co_await Yield(ring());
      continue;
    }
    if (incoming_.header_complete()) {
      if (!take_header()) break;
      continue;
    }
    const ssize_t got = incoming_.receive_some(socket());
    if (got > 0) continue;
    if (!try_later(got, errno)) break;
    const io::IoResult polled = co_await ready(POLLIN);
    if (!waited(polled)) break;
  }
  out_waits().wake_one();  // pump_out may have nothing left to wait for
}

bool TcpTarget::take_header() {
  const auto frame = decode(incoming_.header());
  if (!frame) shut(peer_error(io::ErrorKind::protocol, frame.error().detail));
  if (!frame || !accept(*frame)) return false;
  if (takes_slot(frame->kind)) {
    incoming_.begin_payload(*frame, arena_.slot(frame->slot).first(frame->length));
  } else {
    deliver(*frame);
  }
  return true;
}

}  // namespace

std::unique_ptr<Stream> make_tcp_source(io::Ring& ring, io::Fd socket, const StreamShape& shape) {
  return std::make_unique<TcpSource>(ring, std::move(socket), shape);
}

std::unique_ptr<Stream> make_tcp_target(io::Ring& ring, io::Fd socket, const StreamShape& shape,
                                        io::Arena& arena) {
  return std::make_unique<TcpTarget>(ring, std::move(socket), shape, arena);
}

}  // namespace rdcp::net
