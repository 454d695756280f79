// Receiving for a test that plays one end of a connection by hand. What is interrupted is repeated: a receive
// with a time limit ends with EINTR instead of going on (signal(7)), and not by signals alone. io_uring wants
// a thread for work of its own some time after the thread has closed a ring.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <span>

#include "io/fd.h"
#include "io/retry.h"

namespace rdcp::net {

// Returns recv(2)'s result.
inline ssize_t receive_some(const io::Fd& socket, std::span<std::byte> into) {
  return io::retry_eintr([&] { return ::recv(socket.get(), into.data(), into.size(), 0); });
}

// Returns false if the connection ends before, or if the socket's time limit is over.
inline bool receive_all(const io::Fd& socket, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = receive_some(socket, bytes);
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

// Waits until the other end says something or closes. Returns true if it closes in order, not by a reset.
inline bool is_closed(const io::Fd& socket) {
  std::byte more;
  return receive_some(socket, std::span(&more, 1)) == 0;
}

}  // namespace rdcp::net
