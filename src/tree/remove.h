// Removes whole trees, beneath a held directory.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>

#include "io/result.h"

namespace rdcp::tree {

// Asked with paths below `name`'s directory ("name/a/b").
struct MayRemove {
  // Before anything is removed; what it says no to stays, and so do the directories above it.
  std::function<bool(const std::string& path, bool is_directory)> remove;
  // Before a directory is looked into: no, and it stays with all that is in it.
  std::function<bool(const std::string& path, const struct stat& status)> enter;
};

// Removes `name` in directory, with all that is beneath it where it is a directory. Follows no link, and
// stops at a mount point (an Error: EBUSY). Directories of ours that do not let us in are given that right.
// What is gone already is none. subject: of `name`, for messages. A descriptor is held for each level.
// dry_run: only asks.
io::Result<void> remove_tree(int directory, const std::string& name, std::string_view subject,
                             const MayRemove& may_remove = {}, bool dry_run = false);

}  // namespace rdcp::tree
