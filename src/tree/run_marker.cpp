#include "tree/run_marker.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <utility>

#include "tree/beneath.h"
#include "tree/part_file.h"

namespace rdcp::tree {

bool RunMarker::is_there(int directory, const std::string& name) {
  // One that is locked is ours, too, and so is its run; it is not for us.
  return bool(open_own(directory, name));
}

std::optional<RunMarker> RunMarker::make(int directory, const std::string& name) {
  io::Fd file = open_beneath(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) file.reset();
  if (!file) file = open_own(directory, name);
  if (!file) return std::nullopt;
  return RunMarker(std::move(file), name);
}

void RunMarker::remove(int directory) {
  struct stat before {};
  const bool known = ::fstat(directory, &before) == 0;
  if (::unlinkat(directory, name_.c_str(), 0) != 0 || !known) return;
  const std::array<timespec, 2> times{before.st_atim, before.st_mtim};
  ::futimens(directory, times.data());
}

}  // namespace rdcp::tree
