// Two ends of one connection within this host.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <span>

#include "io/fd.h"

namespace rdcp::net {

// Over the loopback device.
struct TcpPair {
  TcpPair() {
    const io::Fd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listening.get(), generic, bytes), 0);
    EXPECT_EQ(::listen(listening.get(), 1), 0);
    EXPECT_EQ(::getsockname(listening.get(), generic, &bytes), 0);
    source.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(source.get(), generic, bytes), 0);
    target.reset(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    for (const int fd : {source.get(), target.get()}) {
      const int on = 1;
      EXPECT_EQ(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
      EXPECT_EQ(::fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    }
  }
  io::Fd source;
  io::Fd target;
};

// For an end that a test plays by hand: blocking, with a limit.
inline void make_blocking(const io::Fd& socket) {
  EXPECT_EQ(::fcntl(socket.get(), F_SETFL, 0), 0);
  const timeval limit{20, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

inline bool send_all(const io::Fd& socket, std::span<const std::byte> bytes) {
  return ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

// Makes close() answer with a reset instead of an orderly end.
inline void reset_on_close(const io::Fd& socket) {
  const linger abort{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
}

// By a Unix socket.
struct UnixPair {
  UnixPair() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    source.reset(ends[0]);
    target.reset(ends[1]);
  }
  io::Fd source;
  io::Fd target;
};

}  // namespace rdcp::net
