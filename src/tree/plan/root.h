// A place where a source's walk begins.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "tree/fs/beneath.h"

namespace rdcp::tree {

// One SRC. Everything in it is looked up from fd on.
struct Root {
  io::Fd fd;                // the directory, or the parent directory of a single file, symlink or node
  std::string given;        // the SRC as the user named it, for messages
  std::string name;         // the name within fd, if single
  std::string landing;      // Entry::path of its top; set before the first worker starts
  std::string filter_path;  // its top's path as filter rules see it; empty if its content is the top
  bool single = false;      // it is one item, not a directory
  bool follows = false;     // what symbolic links lead to is copied, not they themselves (--copy-links)
  io::Fd opened;            // a single one that is open, to be read as it is (standard input, FIFO, device)
  bool waits_for_writer = false;       // `opened` is a FIFO, which has no end before it has had a writer
  std::optional<std::uint64_t> begin;  // `opened` is a regular file that is read by extents from here on

  // Opens a path in it: by open_beneath(), unless it `follows`.
  io::Fd open(std::string_view path, int flags) const {
    return follows ? open_following(fd.get(), path, flags) : open_beneath(fd.get(), path, flags);
  }
  // Returns AT_SYMLINK_NOFOLLOW for fstatat(2), or 0 if it `follows`.
  int stat_flags() const { return follows ? 0 : AT_SYMLINK_NOFOLLOW; }
};

}  // namespace rdcp::tree
