// What close(2) tells of a file, heard before it matters.
#pragma once

#include <string_view>

#include "io/result.h"

namespace rdcp::tree {

// True where close(2) is known to have nothing to tell, because write(2) and fsync(2) have told all: ext2 to
// ext4, xfs, btrfs, tmpfs. Anything else may be a network or FUSE filesystem, which tells of a full disk, a
// quota or a lost server only there.
bool close_is_silent(int fd);

// Hears what close(2) has to tell of all that was written to fd, which stays open: the kernel flushes a file
// at each close(2) of one of its descriptors, so a duplicate is closed (filp_close(), the `flush` of the
// file's filesystem). Costs one fstatfs(2) where close is silent.
io::Result<void> hear_close(int fd, std::string_view subject);

}  // namespace rdcp::tree
