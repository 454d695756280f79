// Gets the errors that close(2) reports for a file before they are too late, and knows what syncfs(2) is
// worth.
#pragma once

#include <string_view>

#include "io/result.h"

namespace rdcp::tree {

// True if close(2) is known to report nothing that write(2) and fsync(2) have not reported: on ext2 to ext4,
// xfs, btrfs and tmpfs. Anything else may be a network or FUSE filesystem, which may report a full disk, a
// quota or a lost server only at close(2).
bool close_is_silent(int fd);

// Returns the error that close(2) would report for what was written to fd, which stays open. The kernel
// flushes a file whenever any of its descriptors is closed (filp_close() calls the filesystem's `flush`), so
// this closes a duplicate. Where close is silent it costs one fstatfs(2).
io::Result<void> hear_close(int fd, std::string_view subject);

// False if syncfs(2) may return success and leave names and metadata in the memory of another program. FUSE
// has a request for it, but the kernel sends it only to virtiofs and, since Linux 6.18, to fuseblk, and which
// of these a filesystem is cannot be told by its descriptor. fsync(2) of a file or directory is always sent.
bool syncfs_reaches_disk(int fd);

}  // namespace rdcp::tree
