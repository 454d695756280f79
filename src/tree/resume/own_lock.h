// The lock (flock(2)) that tells runs which files another one is using.
#pragma once

#include <cerrno>
#include <chrono>
#include <functional>
#include <optional>

#include "io/ring.h"

namespace rdcp::tree {

// True for the errors of flock(2) if the kernel or the filesystem has no such locks (Lustre without -o flock,
// NFS without its lock service). Then nobody can tell whether a run is using a file.
inline bool lacks_locks(int code) {
  return code == ENOSYS || code == EOPNOTSUPP || code == ENOLCK;
}

// The warning to the user about a target without locks.
inline constexpr const char* kNoLocks =
    "the filesystem has no file locks (flock): nothing keeps two runs from writing the same file, and "
    "an interrupted run leaves nothing to continue with";

// Locks files that another run may be using. A run that was killed holds its locks for a while: its agents
// wait 5 s for their coordinator (rejoinable.cpp), and the kernel closes what io_uring has open only after
// the process is gone (io_ring_exit_work()).
class LockPatience {
 public:
  // time: how long to wait for locks, for all files together.
  explicit LockPatience(io::Clock::duration time = std::chrono::seconds(10)) : time_(time) {}

  // Returns true once fd's file is locked; false, with errno, if it cannot be. errno is EWOULDBLOCK if
  // another run still holds the lock and may_wait() is false, or the time is over.
  bool lock(int fd, const std::function<bool()>& may_wait);
  // The same for an attempt that opens and locks a file: it returns false, with errno, if it cannot.
  bool wait_for(const std::function<bool()>& attempt, const std::function<bool()>& may_wait);

 private:
  const io::Clock::duration time_;
  std::optional<io::Clock::time_point> until_;  // set when a lock is first waited for
};

}  // namespace rdcp::tree
