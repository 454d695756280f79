// A place where a source's walk begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/fd.h"

namespace rdcp::tree {

// One SRC. Everything in it is looked up beneath fd.
struct Root {
  io::Fd fd;                // the directory, or the parent directory of a single file, symlink or node
  std::string given;        // the SRC as the user named it, for messages
  std::string name;         // the name within fd, if single
  std::string landing;      // Entry::path of its top; set before the first worker starts
  std::string filter_path;  // its top's path as filter rules see it; empty if its content is the top
  bool single = false;      // it is one item, not a directory
  io::Fd opened;            // a single one that is open, to be read as it is (standard input, FIFO, device)
  bool waits_for_writer = false;       // `opened` is a FIFO, which has no end before it has had a writer
  std::optional<std::uint64_t> begin;  // `opened` is a regular file that is read by extents from here on
};

}  // namespace rdcp::tree
