#include "io/descriptors.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

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

// Neither call blocks, so no signal interrupts it. It fails only where the result is the same: the event was
// signalled more often than can be counted, or not at all.
void Event::signal() const {
  (void)::eventfd_write(fd_.get(), 1);
}

void Event::drain() const {
  eventfd_t count = 0;
  (void)::eventfd_read(fd_.get(), &count);
}

}  // namespace rdcp::io
