#include <linux/sockios.h>
#include <linux/tcp.h>  // the kernel's tcp_info; libc's has only its beginning
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "net/sockets/congestion.h"
#include "net/stream/compression_controller.h"
#include "net/tcp/lossy_path.h"
#include "net/tcp/tcp.h"
#include "net/tcp/tcp_stream.h"

namespace rdcp::net {
namespace {

// A frame and its payload that are being sent.
class Outgoing {
 public:
  Outgoing(const WireMessage& header, std::span<const std::byte> payload)
      : header_(header), header_rest_(header_.bytes()), payload_rest_(payload) {}
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

  WireMessage header_;
  std::span<const std::byte> header_rest_;
  std::span<const std::byte> payload_rest_;
};

class TcpSource : public TcpStream {
 public:
  TcpSource(io::Ring& ring, TcpConnection connection, const StreamShape& shape, RecordLayer with,
            CongestionChoice choice)
      : TcpStream(ring, Side::source, std::move(connection), shape, std::move(with)),
        may_choose_(choice == CongestionChoice::open && congestion_counts_losses(TcpStream::socket())),
        wrapped_(record_layer().travels_as_it_is() ? 0 : shape.slot_bytes),
        arrived_(kCreditsPerReceive * record_layer().frame_bytes()) {}

  void start() override;
  std::optional<double> rate_max() const override;
  std::string description() const override;
  void check_connection(io::Clock::time_point now) override;

 private:
  void post_send(SendAwaiter& awaiter) override {
    outgoing_.push(awaiter);
    out_waits().wake_one();
  }
  void post_credit(const Frame&) override { assert(false); }

  io::Task pump_out() override;
  io::Task pump_in() override;
  // Returns what the kernel knows of the connection, or nothing if that is less than we ask for (Linux 4.6).
  std::optional<tcp_info> facts() const;
  // True if packing the next payload should be tried.
  bool may_pack();
  // Delivers the whole frames in arrived_. Returns false if the stream is shut.
  bool take_arrived();
  // Sends a FIN after everything that is under way, and ends pump_in's wait. The target has nothing more to
  // send, so nothing arrives that would be answered with a reset.
  void finish() { ::shutdown(socket(), SHUT_RDWR); }

  static constexpr std::size_t kCreditsPerReceive = 32;
  io::WaiterQueue outgoing_;  // of SendAwaiter
  CompressionController link_;
  bool may_choose_;  // another congestion control
  bool has_chosen_ = false;
  LossyPath path_;
  std::vector<std::byte> wrapped_;  // the payload that is being sent, if it does not travel as it is
  std::vector<std::byte> arrived_;
  std::size_t arrived_bytes_ = 0;
};

void TcpSource::start() {
  take_for_granted();
  TcpStream::start();
}

std::optional<tcp_info> TcpSource::facts() const {
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (::getsockopt(socket(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  if (length < offsetof(tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt) return std::nullopt;
  return info;
}

// tcpi_min_rtt is the greatest number while there is no measurement.
std::optional<double> TcpSource::rate_max() const {
  const std::optional<double> of_work = record_layer().rate_max();
  const auto info = facts();
  if (!info || info->tcpi_min_rtt == std::numeric_limits<decltype(info->tcpi_min_rtt)>::max()) {
    return of_work;
  }
  const double of_path = kTcpBytesPerRoundTrip * 1e6 / std::max(info->tcpi_min_rtt, 1U);
  return std::min(of_path, of_work.value_or(of_path));
}

std::string TcpSource::description() const {
  return TcpStream::description() + (has_chosen_ ? ", by bbr because packets are lost on the way" : "");
}

// Where bbr is not loaded, or this user may not have it, the system's choice stays.
void TcpSource::check_connection(io::Clock::time_point now) {
  TcpStream::check_connection(now);
  const auto info = may_choose_ && !over() ? facts() : std::nullopt;
  if (!info || !path_.take({.sent_again = info->tcpi_total_retrans,
                            .round_trip = std::chrono::microseconds(info->tcpi_rtt),
                            .shortest_trip = std::chrono::microseconds(info->tcpi_min_rtt)})) {
    return;
  }
  may_choose_ = false;
  has_chosen_ = bool(set_congestion(socket(), "bbr"));
}

bool TcpSource::may_pack() {
  if (!record_layer().packs_for_slow_links()) return record_layer().packs();
  const auto now = CompressionController::Clock::now();
  if (link_.due(now)) {
    int queued = 0;
    const auto info = facts();
    if (!info || ::ioctl(socket(), SIOCOUTQ, &queued) != 0) return false;
    link_.take({.at = now,
                .acked_bytes = info->tcpi_bytes_acked,
                .queued_bytes = static_cast<std::uint64_t>(queued),
                .busy_us = info->tcpi_busy_time,
                .receiver_us = info->tcpi_rwnd_limited},
               record_layer().packing_speed());
  }
  return link_.packs();
}

io::Task TcpSource::pump_out() {
  while (!shut_down() && !ended()) {
    auto* awaiter = static_cast<SendAwaiter*>(outgoing_.pop());
    if (awaiter == nullptr) {
      co_await out_waits().wait();
      continue;
    }
    // The payload is wrapped only now, when the socket is about to take it, so that it is still in the cache.
    const auto header = record_layer().wrap(awaiter->frame(), awaiter->payload(), wrapped_, may_pack());
    if (!header) shut(header.error());
    link_.handed_over(awaiter->frame().length, awaiter->payload().size());
    Outgoing outgoing(header ? *header : WireMessage(), awaiter->payload());
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
  const bool welcome = co_await welcomed();
  while (welcome && !shut_down()) {
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
  const std::size_t each = record_layer().frame_bytes();
  for (; arrived_bytes_ - taken >= each; taken += each) {
    const auto frame = record_layer().open_frame(std::span(arrived_).subspan(taken, each));
    if (!frame) refuse(frame.error());
    if (!frame || !accept(*frame)) return false;
    deliver(*frame);
  }
  std::copy(arrived_.data() + taken, arrived_.data() + arrived_bytes_, arrived_.data());
  arrived_bytes_ -= taken;
  return true;
}

}  // namespace

std::unique_ptr<Stream> make_tcp_source(io::Ring& ring, TcpConnection connection, const StreamShape& shape,
                                        RecordLayer record_layer, CongestionChoice choice) {
  return std::make_unique<TcpSource>(ring, std::move(connection), shape, std::move(record_layer), choice);
}

}  // namespace rdcp::net
