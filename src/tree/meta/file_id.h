// Tells one file from another, by whatever name it was reached.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

namespace rdcp::tree {

// Identifies a file of any type while it exists.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;

  static FileId of(const struct stat& status) { return {status.st_dev, status.st_ino}; }
  bool operator==(const FileId&) const = default;
};

}  // namespace rdcp::tree
