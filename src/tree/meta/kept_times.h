// The times of a directory in which rdcp makes and removes names for a while.
#pragma once

#include <sys/stat.h>

namespace rdcp::tree {

// Holds the modification time that a directory has when this is made. The directory may be equal to its
// source otherwise, and then nothing else would set its time again.
class KeptTimes {
 public:
  // directory: the caller's, outlives this.
  explicit KeptTimes(int directory);
  // Gives it back. Returns 0, or the errno value with which the directory keeps another time, which is a loss
  // (Losses). Who does not own a directory can set its time no more than its source's, so this is none.
  int give_back() const;

 private:
  const int directory_;
  struct stat before_ {};
  int unknown_because_ = 0;  // errno
};

}  // namespace rdcp::tree
