#include "tree/meta/kept_times.h"

#include <fcntl.h>

#include <cerrno>

namespace rdcp::tree {

KeptTimes::KeptTimes(int directory) : directory_(directory) {
  if (::fstat(directory, &before_) != 0) unknown_because_ = errno;
}

io::Result<void> KeptTimes::give_back(std::string_view subject) const {
  const timespec times[2] = {{0, UTIME_OMIT}, before_.st_mtim};
  int cause = unknown_because_;
  if (cause == 0 && ::futimens(directory_, times) != 0) cause = errno;
  return cause == 0 ? io::Result<void>() : io::errno_error("set times of directory", subject, cause);
}

}  // namespace rdcp::tree
