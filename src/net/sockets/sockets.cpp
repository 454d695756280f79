#include "net/sockets/sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include <array>
#include <cstring>
#include <memory>

#include "io/retry.h"
#include "net/sockets/congestion.h"

namespace rdcp::net {
namespace {

// Linux sends the first keepalive probe after kKeepIdleSeconds of silence, and gives up kKeepProbes *
// kKeepEverySeconds later (tcp(7)).
constexpr int kKeepIdleSeconds = 5;
constexpr int kKeepEverySeconds = 5;
constexpr int kKeepProbes = 3;
static_assert(kKeepIdleSeconds + kKeepProbes * kKeepEverySeconds < 25);

// If an option cannot be set, the stream is only slower, or a dead peer is noticed later.
void set(int socket, int level, int option, int value) {
  (void)::setsockopt(socket, level, option, &value, sizeof(value));
}

SocketAddress unmapped(const SocketAddress& address) {
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
  if (address.storage.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) return address;
  SocketAddress result;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
  v4->sin_family = AF_INET;
  v4->sin_port = v6->sin6_port;
  std::memcpy(&v4->sin_addr, v6->sin6_addr.s6_addr + 12, sizeof(v4->sin_addr));
  result.length = sizeof(sockaddr_in);
  return result;
}

}  // namespace

io::Result<SocketAddress> to_socket_address(const Address& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  const int failure = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &raw);
  if (failure != 0) {
    return io::plain_error(io::ErrorKind::usage, "use address", address.host, ::gai_strerror(failure));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(raw, &::freeaddrinfo);
  SocketAddress result;
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  result.length = found->ai_addrlen;
  return result;
}

Address to_address(const SocketAddress& address) {
  const SocketAddress plain = unmapped(address);
  const auto family = plain.storage.ss_family;
  std::array<char, NI_MAXHOST> host{};
  const bool is_ip = family == AF_INET || family == AF_INET6;
  if (!is_ip ||
      ::getnameinfo(plain.get(), plain.length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return {"family " + std::to_string(family), 0};
  }
  const auto port = family == AF_INET ? reinterpret_cast<const sockaddr_in*>(&plain.storage)->sin_port
                                      : reinterpret_cast<const sockaddr_in6*>(&plain.storage)->sin6_port;
  return {host.data(), ntohs(port)};
}

Address local_address(int socket) {
  SocketAddress address;  // of family 0 if there is none
  (void)::getsockname(socket, address.get(), &address.length);
  return to_address(address);
}

Address peer_address(int socket) {
  SocketAddress address;
  (void)::getpeername(socket, address.get(), &address.length);
  return to_address(address);
}

bool is_unix_socket(int socket) {
  int domain = 0;
  socklen_t length = sizeof domain;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX;
}

std::string peer_name(int socket) {
  return is_unix_socket(socket) ? "a process of this host" : peer_address(socket).text();
}

bool stays_on_this_host(int socket) {
  if (is_unix_socket(socket)) return true;
  const std::string here = local_address(socket).host;
  const std::string there = peer_address(socket).host;
  return here == there || there == "::1" || there.starts_with("127.");
}

io::Result<io::Fd> connect_to(const Address& address) {
  const auto to = to_socket_address(address);
  if (!to) return to.error();
  io::Fd socket(::socket(to->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || io::retry_eintr([&] { return ::connect(socket.get(), to->get(), to->length); }) != 0) {
    return io::errno_error("connect to", address.text(), errno, io::ErrorKind::connection);
  }
  set(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  return socket;
}

io::Result<io::Fd> open_tcp_socket(int family) {
  io::Fd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return io::errno_error("open", "TCP socket", errno, io::ErrorKind::connection);
  return socket;
}

io::Result<void> set_stream_options(int socket, const std::string& congestion, TrafficClass traffic_class) {
  if (is_unix_socket(socket)) return {};
  if (auto marked = set_traffic_class(socket, traffic_class); !marked) return marked;
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdleSeconds);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepEverySeconds);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepProbes);
  return set_congestion(socket, congestion);
}

std::string cause_of(const io::Error& error) {
  return error.detail.empty() ? ::strerrordesc_np(error.code) : error.detail;
}

io::Result<bool> receive_rest(int socket, std::span<std::byte> into, std::size_t& have) {
  while (have < into.size()) {
    const std::span<std::byte> rest = into.subspan(have);
    const ssize_t got = io::retry_eintr([&] { return ::recv(socket, rest.data(), rest.size(), 0); });
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      const int code = got < 0 ? errno : 0;
      const std::string peer = peer_name(socket);
      if (code != 0) return io::errno_error("handshake with", peer, code, io::ErrorKind::connection);
      return io::plain_error(io::ErrorKind::connection, "handshake with", peer, "closed the connection");
    }
    have += static_cast<std::size_t>(got);
  }
  return true;
}

io::Result<void> send_whole(int socket, std::span<const std::byte> message) {
  const ssize_t sent =
      io::retry_eintr([&] { return ::send(socket, message.data(), message.size(), MSG_NOSIGNAL); });
  const int code = sent < 0 ? errno : ENOBUFS;
  if (sent == static_cast<ssize_t>(message.size())) return {};
  return io::errno_error("handshake with", peer_name(socket), code, io::ErrorKind::connection);
}

}  // namespace rdcp::net
