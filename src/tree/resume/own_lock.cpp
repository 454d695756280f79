#include "tree/resume/own_lock.h"

#include <sys/file.h>

#include <ctime>

namespace rdcp::tree {
namespace {

constexpr timespec kBetweenTries{0, 10'000'000};

}  // namespace

bool LockPatience::lock(int fd, const std::function<bool()>& may_wait) {
  return wait_for([fd] { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }, may_wait);
}

bool LockPatience::wait_for(const std::function<bool()>& attempt, const std::function<bool()>& may_wait) {
  while (!attempt()) {
    if (errno != EWOULDBLOCK) return false;
    if (!until_) until_ = io::Clock::now() + time_;
    if (io::Clock::now() >= *until_ || !may_wait()) {
      errno = EWOULDBLOCK;
      return false;
    }
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kBetweenTries, nullptr);
  }
  return true;
}

}  // namespace rdcp::tree
