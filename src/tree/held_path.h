// Descriptors of the directories that look-ups go through, without making any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/fd.h"

namespace rdcp::tree {

// The last directory that was asked for and those above it, by which the next is reached in a step: names
// come directory by directory. Resolved by open_beneath() (beneath.h), O_PATH. Not thread-safe.
class HeldPath {
 public:
  // root: the caller's, outlives this.
  explicit HeldPath(int root) : root_(root) {}

  // Descriptor of the directory, valid until the next call; an empty path is the root. -1 with errno: ENOENT
  // or ENOTDIR where there is none (a symlink is none), also by what was seen missing since the last
  // forget().
  int open(std::string_view path);
  void forget();

 private:
  struct Step {
    std::string path;
    io::Fd fd;
  };
  static constexpr std::size_t kHeld = 64;
  int root_;
  std::vector<Step> steps_;  // each beneath the one before
  std::string missing_;
};

}  // namespace rdcp::tree
