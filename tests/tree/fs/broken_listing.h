// A directory that cannot be listed to its end, as on a broken disk.
#pragma once

#include <string>

namespace rdcp::tree {

// While it lives, readdir(3) of the directory fails with EIO after so many calls, in this whole program.
// One at a time.
class BrokenListing {
 public:
  explicit BrokenListing(const std::string& directory, int calls = 0);
  BrokenListing(const BrokenListing&) = delete;
  BrokenListing& operator=(const BrokenListing&) = delete;
  ~BrokenListing();
};

}  // namespace rdcp::tree
