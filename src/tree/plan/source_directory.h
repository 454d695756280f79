// Where a source's walk begins, and the directories that are under way.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/fd.h"
#include "tree/meta/entry.h"
#include "tree/select/named_paths.h"

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

struct Directory;
using DirectoryRef = std::shared_ptr<Directory>;

// A directory under way. Its own metadata is sent ("finished") when everything in it has been settled, so
// that times and modes are not disturbed by what is written into it; then it is forgotten. What is held of a
// tree at one time is thus bounded by the walk's frontier and what is in flight.
struct Directory {
  const Root* root = nullptr;
  DirectoryRef parent;     // null for a root
  std::string local_path;  // beneath root->fd
  Entry entry;             // metadata; path is filled in when it is sent
  bool readable = true;    // false: it could not even be opened; it has been reported and is not finished
  // Its own metadata are to be sent. A sync finds out: they differ, or something in it changes.
  std::atomic<bool> to_finish{true};
  // Something in it left its batch to go alone, so its finish cannot be in that batch.
  std::atomic<bool> outgrown{false};

  bool whole = true;            // all that is in it is listed; else what is named
  NamedPaths::Range names;      // named beneath it; with whole, what the names say of an entry comes first
  bool passed_through = false;  // a root, not named itself: what it is at the target is left as it is
  dev_t device = 0;             // that --one-file-system keeps to

  // Children not settled yet, plus one while it is being listed. At zero it can be finished.
  std::atomic<std::int64_t> pending{1};

  // For the walker thread that lists it: how many children are in its batch number batch_serial.
  std::uint64_t batch_serial = 0;
  std::int64_t in_batch = 0;
  bool offered = false;  // another thread lists it, so its parent's in_batch must be left alone
};

}  // namespace rdcp::tree
