// Wraps the kernel's socket calls: addresses, options, small messages.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "io/fd.h"
#include "io/result.h"
#include "net/sockets/address.h"
#include "net/sockets/traffic_class.h"

namespace rdcp::net {

// How often a call that connects or listens looks whether it is to stop.
inline constexpr std::chrono::milliseconds kStopLook{100};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Error (usage): host is not a numeric address, or its %scope is not an interface.
io::Result<SocketAddress> to_socket_address(const Address& address);
// IPv4 addresses that came through a dual-stack socket lose their ::ffff: prefix. An address of another
// family has its family's number as host.
Address to_address(const SocketAddress& address);

Address local_address(int socket);
Address peer_address(int socket);
bool is_unix_socket(int socket);
// Names the other end of a connection: its address, or "a process of this host" behind a Unix socket.
std::string peer_name(int socket);
// True if both ends of this connection have the same address, or a loopback one (127.0.0.0/8, ::1), or it is
// a Unix socket: what is sent never leaves this host.
bool stays_on_this_host(int socket);

// Connects, and waits for it. The socket blocks and has TCP_NODELAY. Error (connection): the address and why.
io::Result<io::Fd> connect_to(const Address& address);

// Opens a non-blocking TCP socket of this family.
io::Result<io::Fd> open_tcp_socket(int family);

// Sets TCP_NODELAY, and keepalive so that a peer that is gone is noticed within 25 s while nothing is sent.
// congestion may be empty. A Unix socket has no such options. Errors: those of set_congestion() and of
// set_traffic_class().
io::Result<void> set_stream_options(int socket, const std::string& congestion,
                                    TrafficClass traffic_class = std::nullopt);

// Returns what an error says, without its operation and subject.
std::string cause_of(const io::Error& error);

// For the handshake's small messages on non-blocking sockets. Receives what has arrived of the rest of
// `into`, whose first `have` bytes are filled; returns true when it is full. Error (connection): the peer
// closed, or errno.
io::Result<bool> receive_rest(int socket, std::span<std::byte> into, std::size_t& have);
// Sends the message in one call. A new socket's buffer takes a message of this size whole; if it does not,
// that is an error.
io::Result<void> send_whole(int socket, std::span<const std::byte> message);

}  // namespace rdcp::net
