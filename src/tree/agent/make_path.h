// Makes a directory that the user named, with all above it.
#pragma once

#include <sys/types.h>

#include <string>

#include "io/result.h"

namespace rdcp::tree {

// Makes the directories of `path` that are missing, with these permission bits. Follows symlinks that were
// there before, as any look-up of a path of the user's does, but none in place of what it has just made. That
// all is there already is no error.
io::Result<void> make_path(const std::string& path, mode_t mode);

}  // namespace rdcp::tree
