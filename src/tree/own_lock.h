// The lock (flock(2)) by which runs tell what another one is at.
#pragma once

#include <cerrno>

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

}  // namespace rdcp::tree
