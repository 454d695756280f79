// The times of a directory in which rdcp makes and removes names for a while.
#pragma once

#include <sys/stat.h>

#include <string_view>

#include "io/result.h"

namespace rdcp::tree {

// Holds the modification time that a directory has when this is made. The directory may be equal to its
// source otherwise, and then nothing else would set its time again.
class KeptTimes {
 public:
  // directory: the caller's, outlives this.
  explicit KeptTimes(int directory);
  // Gives it back. On an Error, about `subject`, the directory has another time than its source.
  io::Result<void> give_back(std::string_view subject) const;

 private:
  const int directory_;
  struct stat before_ {};
  int unknown_because_ = 0;  // errno
};

}  // namespace rdcp::tree
