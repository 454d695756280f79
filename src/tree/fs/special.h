// Makes symlinks, FIFOs, sockets, device nodes and hard links beneath a held directory.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>

#include "io/result.h"
#include "tree/meta/entry.h"

namespace rdcp::tree {

// The directory in which something gets its name, and the name.
struct Place {
  int directory;
  std::string name;          // one component
  std::string_view subject;  // names it in messages
};

// Sets the metadata of a new inode that is held by an O_PATH descriptor.
using FinishInode = std::function<io::Result<void>(int fd)>;

// Makes the symlink, FIFO, socket or device node that entry describes. If the name is taken, it is made and
// finished under a temporary name and renamed over what is there; a symlink with the same target is only
// finished. Errors: EISDIR if a directory has the name, EPERM for a device node without CAP_MKNOD. No
// temporary name is left after an error.
io::Result<void> make_special(const Place& place, const Entry& entry, const FinishInode& finish);

// True if an error of make_special() says that mknod(2) is not permitted, and not that something else is,
// such as to replace what has the name.
bool may_not_make_nodes(const io::Error& error);

// Makes another name for `target_name` in target_directory (if that is a symlink, for the symlink itself), in
// place of what has the name. Does nothing if both are one inode already. The error is EISDIR if a directory
// has the name.
io::Result<void> make_hard_link(const Place& place, int target_directory, const std::string& target_name);

// Makes a name, where there is none yet, for the file that has `target_name` in target_directory, if it still
// is the one that was looked at. Returns false, with no name made, if it is not or cannot be linked: it is on
// another filesystem, is somebody else's (protected_hardlinks in proc(5)), or has too many names.
bool link_unchanged(const Place& place, int target_directory, const std::string& target_name,
                    const struct stat& looked_at);

}  // namespace rdcp::tree
