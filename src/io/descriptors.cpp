#include "io/descriptors.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace rdcp::io {

Result<Fd> duplicate(int fd, std::string_view name) {
  Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) return errno_error("duplicate the descriptor of", name);
  return copy;
}

Result<FdPair> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error("make", "a pipe");
  return FdPair{Fd(ends[0]), Fd(ends[1])};
}

Result<FdPair> make_socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_error("make", "a socket pair");
  }
  return FdPair{Fd(ends[0]), Fd(ends[1])};
}

Result<Event> Event::create() {
  Event event;
  event.fd_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.fd_) return errno_error("make", "an event descriptor");
  return event;
}

void Event::signal() const {
  const std::uint64_t one = 1;
  while (::write(fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void Event::drain() const {
  std::uint64_t count = 0;
  while (::read(fd_.get(), &count, sizeof count) < 0 && errno == EINTR) {
  }
}

}  // namespace rdcp::io
