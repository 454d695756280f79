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
  // Before anything else: no, and it stays with all that is in it, and so do the directories above it.
  std::function<bool(const std::string& path, const struct stat& status)> look;
  // Just before it is removed; what is in a directory has been removed by then. No, as above.
  std::function<bool(const std::string& path, bool is_directory)> remove;
};

// Removes `name` in directory, with all that is beneath it where it is a directory; false where something was
// to stay. Follows no link, and stops at a mount point, bind mounts too (an Error). Directories of ours that
// do not let us in are given that right. A name that is missing is not an error. subject: of `name`, for
// messages. A descriptor is held for each level. dry_run: only looks and asks.
io::Result<bool> remove_tree(int directory, const std::string& name, std::string_view subject,
                             const MayRemove& may_remove = {}, bool dry_run = false);

}  // namespace rdcp::tree
