// The times of a directory in which rdcp makes and removes what is its own, for a while.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace rdcp::tree {

// Returns what change() returns, with its errno, and leaves the directory's modification time as it was. The
// directory may be equal to its source otherwise, and then nothing else would set its time again. A time that
// cannot be given back is not told: a later mirror sees the difference and sets it.
template <class Change>
auto with_times_kept(int directory, Change change) {
  struct stat before {};
  const bool known = ::fstat(directory, &before) == 0;
  auto changed = change();
  const int cause = errno;
  const timespec times[2] = {{0, UTIME_OMIT}, before.st_mtim};
  if (known) (void)::futimens(directory, times);
  errno = cause;
  return changed;
}

}  // namespace rdcp::tree
