// The lock (flock(2)) by which runs tell what another one is at.
#pragma once

#include <cerrno>
#include <functional>
#include <optional>

#include "io/ring.h"

namespace rdcp::tree {

// True of what flock(2) says where the kernel or the filesystem has no such locks (Lustre without -o flock,
// NFS without its lock service): then nobody can tell whether a run is at a file.
inline bool lacks_locks(int code) {
  return code == ENOSYS || code == EOPNOTSUPP || code == ENOLCK;
}

// For the user, of a target without locks.
inline constexpr const char* kNoLocks =
    "the filesystem has no file locks (flock): two runs that write the same files are not kept apart, and "
    "one that is cut short leaves nothing to go on with";

// Takes the locks of files that another run may be at. One that has just ended may hold its locks for a
// moment longer: what io_uring has open, the kernel lets go of only after the process is gone
// (io_ring_exit_work()).
class LockPatience {
 public:
  // True once fd's file is locked; false with errno, which is EWOULDBLOCK where another run still holds the
  // lock when three seconds in all have been waited for such locks, or may_wait() is false.
  bool lock(int fd, const std::function<bool()>& may_wait);

 private:
  std::optional<io::Clock::time_point> until_;  // set when a lock is first waited for
};

}  // namespace rdcp::tree
