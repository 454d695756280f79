#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "net/sockets/sockets.h"
#include "net/tcp/tcp_stream.h"

namespace rdcp::net {

TcpStream::TcpStream(io::Ring& ring, Side side, TcpConnection connection, const StreamShape& shape,
                     RecordLayer record_layer)
    : Stream(ring, side, shape, peer_name(connection.socket.get())),
      record_layer_(std::move(record_layer)),
      socket_(std::move(connection.socket)),
      welcome_(connection.welcome),
      description_(describe(side, socket_.get())),
      out_waits_(ring) {}

void TcpStream::start() {
  pump_out_ = pump_out();
  pump_in_ = pump_in();
  pump_out_.start();
  pump_in_.start();
}

void TcpStream::close_connection() {
  ::shutdown(socket_.get(), SHUT_RDWR);
  out_waits_.wake_all();
}

std::string TcpStream::describe(Side side, int socket) {
  const std::string there = peer_name(socket);
  if (is_unix_socket(socket)) return "unix socket to " + there;
  const std::string here = local_address(socket).text();
  return "tcp " + (side == Side::source ? here + " -> " + there : there + " -> " + here);
}

// TCP_USER_TIMEOUT would do this, but it also counts the time in which a living peer, whose disk is slow,
// keeps its window shut (Linux 5.11). Keepalive is silent while data is outstanding.
void TcpStream::check_connection(io::Clock::time_point now) {
  if (welcome_ && !over() && now - since_ > kHandshakeTimeout) {
    return shut(peer_error(io::ErrorKind::connection, "connected, but does not speak rdcp"));
  }
  tcp_info info{};
  socklen_t bytes = sizeof(info);
  if (over() || ::getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return;
  const std::chrono::milliseconds silent(info.tcpi_last_ack_recv);
  if (info.tcpi_unacked == 0 || silent <= kUnreachableMax) return;
  // If only one direction is gone, a reset tells the peer at once. An orderly end would wait behind the data
  // that nobody acknowledges, which is sent again at most twice a minute by now.
  const linger reset{.l_onoff = 1, .l_linger = 0};
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  shut(peer_error(io::ErrorKind::connection, "does not answer any more"));
}

io::Step<bool> TcpStream::welcomed() {
  while (!shut_down() && welcome_) {
    if (take_welcome() || shut_down()) continue;
    const io::IoResult polled = co_await ready(POLLIN);
    if (!waited(polled)) break;
  }
  co_return !welcome_;
}

// Whoever does not send it may be a stranger at the address of the listener, so only this connection is lost.
bool TcpStream::take_welcome() {
  const auto whole = receive_rest(socket_.get(), came_, came_bytes_);
  if (!whole && over()) return false;
  if (!whole) return shut(peer_error(io::ErrorKind::connection, cause_of(whole.error()))), false;
  if (!*whole) return false;
  const auto proven = compare(*welcome_, came_);
  if (!proven) return shut(peer_error(io::ErrorKind::connection, cause_of(proven.error()))), false;
  welcome_.reset();
  return true;
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

}  // namespace rdcp::net
