#include "net/sockets/user_socket.h"

#include <fmt/format.h>

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>

#include "io/retry.h"

namespace rdcp::net {

using io::ErrorKind;
using io::Fd;
using io::Result;

namespace {

constexpr std::string_view kPrefix = "rdcp-";
constexpr std::size_t kRandomBytes = 16;
constexpr std::size_t kNameBytes = kPrefix.size() + 2 * kRandomBytes;
constexpr int kBacklog = 128;

struct UnixAddress {
  sockaddr_un socket{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&socket); }
};

// A name in the abstract namespace follows a zero byte, and ends with the address.
UnixAddress address_of(std::string_view name) {
  UnixAddress address;
  address.socket.sun_family = AF_UNIX;
  name.copy(address.socket.sun_path + 1, sizeof address.socket.sun_path - 1);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Result<Fd> make_socket(int flags) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!socket) return io::errno_error("make", "a Unix socket", errno, ErrorKind::connection);
  return socket;
}

std::string name_beside(std::uint16_t port) {
  return fmt::format("rdcp-port-{}", port);
}

// Returns a name that nobody can guess.
Result<std::string> draw_socket_name() {
  std::array<unsigned char, kRandomBytes> drawn{};
  if (io::retry_eintr([&] { return ::getrandom(drawn.data(), drawn.size(), 0); }) != kRandomBytes)
    return io::errno_error("draw", "a random name");
  return fmt::format("{}{:02x}", kPrefix, fmt::join(drawn, ""));
}

// Nothing if it cannot be learned.
std::optional<uid_t> user_of(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer.uid;
}

}  // namespace

Result<UserSocket> UserSocket::open() {
  auto name = draw_socket_name();
  return name ? listen_at(std::move(*name)) : name.error();
}

Result<UserSocket> UserSocket::open_beside(std::uint16_t port) {
  return listen_at(name_beside(port));
}

Result<UserSocket> UserSocket::listen_at(std::string name) {
  auto socket = make_socket(SOCK_NONBLOCK);
  if (!socket) return socket.error();
  const UnixAddress address = address_of(name);
  if (::bind(socket->get(), address.get(), address.length) != 0 || ::listen(socket->get(), kBacklog) != 0)
    return io::errno_error("listen at", name, errno, ErrorKind::connection);
  return UserSocket(std::move(name), std::move(*socket));
}

Fd UserSocket::accept(int flags) const {
  Fd who(io::retry_eintr([&] { return ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | flags); }));
  if (!who) return who;
  const auto user = user_of(who.get());
  if (!user || *user == ::geteuid()) ++came_;
  if (user != ::geteuid()) who.reset();
  return who;
}

bool is_user_socket(std::string_view name) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == kNameBytes && name.starts_with(kPrefix) &&
         std::ranges::all_of(name.substr(kPrefix.size()), is_digit);
}

Result<Fd> connect_to_user_socket(const std::string& name) {
  auto socket = make_socket(0);
  if (!socket) return socket.error();
  const UnixAddress address = address_of(name);
  if (io::retry_eintr([&] { return ::connect(socket->get(), address.get(), address.length); }) != 0)
    return io::errno_error("reach", "the agent", errno, ErrorKind::connection);
  if (user_of(socket->get()) != ::geteuid())
    return io::errno_error("reach", "the agent", EPERM, ErrorKind::connection);
  return socket;
}

Result<Fd> connect_beside(std::uint16_t port) {
  return connect_to_user_socket(name_beside(port));
}

}  // namespace rdcp::net
