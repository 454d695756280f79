#include "tree/pipe/relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include "io/retry.h"

namespace rdcp::tree {

io::Result<io::Fd> Relay::open() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return io::errno_error("make", "a socket pair", errno, io::ErrorKind::unreachable);
  }
  socket_.reset(ends[0]);
  reading_ = true;
  return io::Fd(ends[1]);
}

void Relay::forward() {
  char bytes[16 << 10];
  const ssize_t n = io::retry_eintr([&] { return ::read(socket_.get(), bytes, sizeof bytes); });
  if (n <= 0) reading_ = false;
  RelayedBytes message;
  message.channel = channel_;
  if (n > 0) message.bytes.assign(bytes, static_cast<std::size_t>(n));
  send_(message);
}

// Control messages are few and small, and their reader reads all the time, so this does not block for long. A
// reader that has gone needs no message any more. One that is still there has lost a part of what was said,
// so after an error both sides hear that it is over: who waited for the rest would wait for ever.
void Relay::deliver(const std::string& bytes) {
  if (!socket_) return;
  if (bytes.empty()) ::shutdown(socket_.get(), SHUT_WR);
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = io::retry_eintr(
        [&] { return ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL); });
    if (n < 0) {
      ::shutdown(socket_.get(), SHUT_RDWR);
      return;
    }
    sent += static_cast<std::size_t>(n);
  }
}

}  // namespace rdcp::tree
