#include "cli/process.h"

#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace rdcp::cli {

int signals_as_descriptor(Suspend suspend) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  if (suspend == Suspend::by_descriptor) sigaddset(&signals, SIGTSTP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

void raise_limits() {
  // What the walker allocates the workers free: with a heap for each thread that piles up (mallopt(3)).
  ::mallopt(M_ARENA_MAX, 2);
  // Large trees need more descriptors than the soft limit of 1024 that shells start with.
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void write_to_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd full{STDERR_FILENO, POLLOUT, 0};
      ::poll(&full, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace rdcp::cli
