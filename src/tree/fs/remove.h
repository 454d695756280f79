// Removes whole trees beneath a held directory.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "io/result.h"
#include "tree/fs/removal_permit.h"

namespace rdcp::tree {

// Decides what may be removed. Paths are relative to the directory that `name` is in ("name/a/b").
struct MayRemove {
  // Called first. If it returns false, the entry stays with all that is in it, and so do the directories
  // above it.
  std::function<bool(const std::string& path, const struct stat& status)> look;
  // Called just before an entry is removed; what was in a directory is gone by then. Without a permit the
  // entry stays, as above. If this is not set, all stays.
  std::function<std::optional<RemovalPermit>(const std::string& path, const struct stat& status)> remove;
  // If this is set, it is called before anything but a directory is removed, with the directory that it is in
  // and its name there. After an error nothing more is removed.
  std::function<io::Result<void>(int directory, const std::string& name, const std::string& path)> back_up =
      {};
  bool backs_up_beside = false;  // back_up puts it into the same directory, which stays for it
};

// Removes `name` in directory and, if it is a directory, all that is beneath it. Returns false if something
// was to stay. Follows no link, and stops with an Error at a mount point, also a bind mount. Directories that
// we own but may not enter are made accessible. A missing name is not an error. subject stands for `name` in
// messages. Holds one descriptor for each level. With dry_run it only looks and asks.
io::Result<bool> remove_tree(int directory, const std::string& name, std::string_view subject,
                             const MayRemove& may_remove, bool dry_run = false);

}  // namespace rdcp::tree
