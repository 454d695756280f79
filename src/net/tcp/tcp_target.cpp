#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#include "net/tcp/tcp.h"
#include "net/tcp/tcp_stream.h"

namespace rdcp::net {
namespace {

// A frame and its payload that are being received. While a payload arrives, the room for the next header
// follows it, so that a stream of full slots costs one call each if the data is there.
class Incoming {
 public:
  explicit Incoming(std::size_t header_bytes) : header_max_(header_bytes) {}

  // The frame whose payload is arriving.
  const std::optional<Frame>& frame() const { return frame_; }
  bool payload_complete() const { return frame_ && payload_rest_.empty(); }
  // Where the payload is.
  std::span<std::byte> payload() const { return payload_; }
  bool header_complete() const { return !frame_ && header_bytes_ == header_max_; }
  std::span<const std::byte> header() const { return std::span(header_).first(header_max_); }

  void begin_payload(const Frame& frame, std::span<std::byte> room) {
    frame_ = frame;
    payload_ = payload_rest_ = room;
    header_bytes_ = 0;
  }
  void end_payload() { frame_.reset(); }

  ssize_t receive_some(int socket) {
    std::array<iovec, 2> parts{{{payload_rest_.data(), payload_rest_.size()},
                                {header_.data() + header_bytes_, header_max_ - header_bytes_}}};
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

  const std::size_t header_max_;
  std::optional<Frame> frame_;
  std::span<std::byte> payload_;
  std::span<std::byte> payload_rest_;
  std::array<std::byte, kSealedFrameBytes> header_;
  std::size_t header_bytes_ = 0;
};

// So many credits for one slot can wait to be sent: its grant, which a source need not have read before it
// uses the slot (Stream::take_for_granted()), and the answer to that use. A source that uses it a second time
// has read both.
constexpr std::size_t kCreditsPerSlot = 2;

class TcpTarget : public TcpStream {
 public:
  TcpTarget(io::Ring& ring, TcpConnection connection, const StreamShape& shape, io::Arena& arena,
            RecordLayer with)
      : TcpStream(ring, Side::target, std::move(connection), shape, std::move(with)),
        arena_(arena),
        packed_(record_layer().packs() ? shape.slot_bytes : 0),
        incoming_(record_layer().frame_bytes()),
        credits_(kCreditsPerSlot * shape.target_slots * record_layer().frame_bytes()) {
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
  // Takes a header that has arrived whole. Returns false if the stream is shut.
  bool take_header();
  // Does the same for a payload.
  bool take_payload();
  void drop_sent(std::size_t bytes);

  io::Arena& arena_;
  std::vector<std::byte> packed_;  // the payload that is arriving, if it is packed
  Incoming incoming_;
  std::vector<std::byte> credits_;  // the first credit_bytes_ are encoded, but not yet handed to the kernel
  std::size_t credit_bytes_ = 0;
};

void TcpTarget::post_credit(const Frame& credit) {
  if (credits_.size() - credit_bytes_ < record_layer().frame_bytes()) {
    shut(peer_error(io::ErrorKind::protocol, "sent a chunk for a slot whose credit it had not read"));
    return;
  }
  const auto message = record_layer().wrap(credit);
  if (!message) return shut(message.error());
  std::ranges::copy(message->bytes(), credits_.begin() + static_cast<std::ptrdiff_t>(credit_bytes_));
  credit_bytes_ += record_layer().frame_bytes();
  out_waits().wake_one();
}

void TcpTarget::drop_sent(std::size_t bytes) {
  std::copy(credits_.begin() + static_cast<std::ptrdiff_t>(bytes),
            credits_.begin() + static_cast<std::ptrdiff_t>(credit_bytes_), credits_.begin());
  credit_bytes_ -= bytes;
}

// Sends all credits that have gathered since the last turn in one call.
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
  if (!held()) ::shutdown(socket(), SHUT_WR);
}

io::Task TcpTarget::pump_in() {
  const bool welcome = co_await welcomed();
  while (welcome && !shut_down() && !ended()) {
    if (incoming_.payload_complete()) {
      if (!take_payload()) break;
      // The chunk is in the cache now, so its receiver should look at it before the next one arrives.
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

bool TcpTarget::take_payload() {
  const Frame& frame = *incoming_.frame();
  const auto opened =
      record_layer().open_payload(frame, incoming_.payload(), arena_.slot(frame.slot).first(frame.length));
  if (!opened) return refuse(opened.error()), false;
  deliver(frame);
  incoming_.end_payload();
  return true;
}

bool TcpTarget::take_header() {
  const auto frame = record_layer().open_frame(incoming_.header());
  if (!frame) refuse(frame.error());
  if (!frame || !accept(*frame)) return false;
  if (takes_slot(frame->kind)) {
    const std::span<std::byte> room = frame->packed != 0 ? std::span(packed_) : arena_.slot(frame->slot);
    incoming_.begin_payload(*frame, room.first(wire_bytes(*frame)));
  } else {
    deliver(*frame);
  }
  return true;
}

}  // namespace

std::unique_ptr<Stream> make_tcp_target(io::Ring& ring, TcpConnection connection, const StreamShape& shape,
                                        io::Arena& arena, RecordLayer record_layer) {
  return std::make_unique<TcpTarget>(ring, std::move(connection), shape, arena, std::move(record_layer));
}

}  // namespace rdcp::net
