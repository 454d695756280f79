#include "io/write_all.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace rdcp::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLookEvery_ms = 100;

// Waits for a descriptor, and calls wait.before() only the first time.
class Waiting {
 public:
  explicit Waiting(const WriteWait& wait) : wait_(wait) {}

  // Returns 0 if something can be written, or if the next write will say what is wrong; else the errno value
  // that write_all() returns.
  int until_writable(int fd) {
    pollfd full{fd, POLLOUT, 0};
    if (::poll(&full, 1, 0) != 0) return 0;
    if (wait_.before && !told_) wait_.before();
    told_ = true;
    const auto begun = Clock::now();
    const int look_every_ms = wait_.give_up ? kLookEvery_ms : wait_.limit ? limit_ms() : -1;
    while (::poll(&full, 1, look_every_ms) <= 0) {
      if (wait_.give_up && wait_.give_up()) return ECANCELED;
      if (wait_.limit && Clock::now() - begun >= *wait_.limit) return ETIMEDOUT;
    }
    return 0;
  }

 private:
  int limit_ms() const { return static_cast<int>(std::clamp<long>(wait_.limit->count(), 1, kLookEvery_ms)); }

  const WriteWait& wait_;
  bool told_ = false;
};

}  // namespace

// A caller that wants to know of a wait must not block in write(2), so each write is at most PIPE_BUF bytes,
// for which POLLOUT promises room (pipe(7)).
int write_all(int fd, std::string_view bytes, const WriteWait& wait) {
  const bool looks_first = wait.before || wait.give_up || wait.limit;
  Waiting waiting(wait);
  while (!bytes.empty()) {
    if (looks_first) {
      if (const int code = waiting.until_writable(fd); code != 0) return code;
    }
    const std::size_t part = looks_first ? std::min<std::size_t>(bytes.size(), PIPE_BUF) : bytes.size();
    const ssize_t n = ::write(fd, bytes.data(), part);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      if (const int code = waiting.until_writable(fd); code != 0) return code;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

long read_some(int fd, char* into, std::size_t bytes) {
  for (;;) {
    const ssize_t n = ::read(fd, into, bytes);
    if (n >= 0 || (errno != EINTR && errno != EAGAIN)) return n;
    pollfd empty{fd, POLLIN, 0};
    if (errno == EAGAIN) ::poll(&empty, 1, -1);
  }
}

}  // namespace rdcp::io
