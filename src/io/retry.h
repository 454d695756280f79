// Makes system calls again that a signal has interrupted.
#pragma once

#include <poll.h>

#include <cerrno>
#include <span>

namespace rdcp::io {

// Makes a call, and makes it again as long as it returns a negative value with errno EINTR.
template <class Call>
auto retry_eintr(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// Waits by poll(2). A signal ends the wait, too, with no events. Returns false, with errno, if poll(2) fails.
inline bool wait_for_events(std::span<pollfd> watched, int timeout_ms) {
  return ::poll(watched.data(), watched.size(), timeout_ms) >= 0 || errno == EINTR;
}

}  // namespace rdcp::io
