// Opens the directories that look-ups go through, and makes none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/fd.h"

namespace rdcp::tree {

// Keeps the last directory that was asked for and those above it open. Names come directory by directory, so
// the next directory is usually one step away. Resolves by open_beneath() (beneath.h) with O_PATH. Not
// thread-safe.
class DirectoryCursor {
 public:
  // The caller owns root and keeps it open longer than this.
  explicit DirectoryCursor(int root) : root_(root) {}

  // Returns a descriptor of the directory that is valid until the next call; an empty path is the root.
  // Returns -1 with errno on failure. The error is ENOENT or ENOTDIR if there is no such directory (a symlink
  // is not one). A directory that was found missing counts as missing until forget().
  int open(std::string_view path);
  void forget();

 private:
  struct Step {
    std::string path;
    io::Fd fd;
  };
  static constexpr std::size_t kHeld = 64;
  int root_;
  std::vector<Step> steps_;  // each lies beneath the one before
  std::string missing_;
};

}  // namespace rdcp::tree
