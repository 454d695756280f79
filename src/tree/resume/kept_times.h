// The times of a directory in which rdcp removes what is its own.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

namespace rdcp::tree {

// Remembers a directory's modification time. The directory may be equal to its source otherwise, and then
// nothing else would set its time again.
class KeptTimes {
 public:
  explicit KeptTimes(int directory) : directory_(directory), known_(::fstat(directory, &before_) == 0) {}

  // A failure is not told: a later mirror sees the difference and sets the time.
  void give_back() const {
    const timespec times[2] = {{0, UTIME_OMIT}, before_.st_mtim};
    if (known_) (void)::futimens(directory_, times);
  }

 private:
  const int directory_;
  struct stat before_ {};
  const bool known_;
};

}  // namespace rdcp::tree
