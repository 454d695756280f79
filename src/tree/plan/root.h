// Where a source's walk begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/fd.h"

namespace rdcp::tree {

// One SRC. Everything of it is looked up beneath fd.
struct Root {
  io::Fd fd;                // the directory; for a single file (or symlink, node) the directory that it is in
  std::string given;        // as the user named it, for messages
  std::string name;         // single: its name within fd
  std::string landing;      // Entry::path of its top; set before the first worker starts
  std::string filter_path;  // of its top, as filter rules see it; empty: its content is the top
  bool single = false;      // not a directory: one item
  io::Fd opened;            // single: already open, to be read as it is (standard input, FIFO, device)
  bool waits_for_writer = false;       // opened: a FIFO, which has no end before it has had a writer
  std::optional<std::uint64_t> begin;  // opened: a regular file that is read by extents from here on
};

}  // namespace rdcp::tree
