// Symlinks, FIFOs, sockets, device nodes and hard links, made beneath a held directory.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "io/result.h"
#include "tree/entry.h"

namespace rdcp::tree {

// Where something gets its name.
struct Place {
  int directory;
  std::string name;          // one component
  std::string_view subject;  // of messages
};

// Sets the metadata of a new inode, held by an O_PATH descriptor.
using Finish = std::function<io::Result<void>(int fd)>;

// Makes the symlink, FIFO, socket or device node that entry describes. Where the name is taken it is made and
// finished under a temporary name and renamed over what is there; a symlink that says the same already is
// only finished. EISDIR when a directory stands there; EPERM for a device node without CAP_MKNOD. After an
// error no temporary name is left.
io::Result<void> make_special(const Place& place, const Entry& entry, const Finish& finish);

// Makes another name of the file `target_name` in target_directory (of a symlink itself, not of what it
// points to), in place of what has the name. Nothing is done where both are one inode already. EISDIR when a
// directory stands there.
io::Result<void> make_hard_link(const Place& place, int target_directory, const std::string& target_name);

}  // namespace rdcp::tree
