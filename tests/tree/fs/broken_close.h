// A network filesystem whose close(2) tells that bytes were lost.
#pragma once

#include <string>

namespace rdcp::tree {

// While it lives, what lies on the filesystem of `path` seems to be on NFS, and close(2) of any file there
// fails with EDQUOT; the descriptor is gone all the same. One at a time.
class BrokenClose {
 public:
  explicit BrokenClose(const std::string& path);
  BrokenClose(const BrokenClose&) = delete;
  BrokenClose& operator=(const BrokenClose&) = delete;
  ~BrokenClose();
};

}  // namespace rdcp::tree
