// Opens the directories that look-ups go through, and makes none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/fd.h"
#include "tree/fs/opened_directories.h"

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
  // From now on directories of ours that must not be searched are opened up by this, which outlives this.
  void open_up_by(OpenedDirectories& opened) { opened_ = &opened; }
  // Opens up the directory at this path. Returns false if that cannot help who met EACCES in it. Leaves errno
  // as it is.
  bool open_up(int directory, std::string_view path) {
    return opened_ != nullptr && opened_->open_up(directory, path) != OpenedDirectories::Access::no;
  }

 private:
  struct Step {
    std::string path;
    io::Fd fd;
  };
  static constexpr std::size_t kHeld = 64;
  int step_to(std::string_view path);

  int root_;
  OpenedDirectories* opened_ = nullptr;
  std::vector<Step> steps_;  // each lies beneath the one before
  std::string missing_;
};

}  // namespace rdcp::tree
