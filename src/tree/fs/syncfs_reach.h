// Tells on which filesystems syncfs(2) does what it says.
#pragma once

namespace rdcp::tree {

// False if syncfs(2) may return success and leave names and metadata in the memory of another program. FUSE
// has a request for it, but the kernel sends it only to virtiofs and, since Linux 6.18, to fuseblk, and which
// of these a filesystem is cannot be told by its descriptor. fsync(2) of a file or directory is always sent.
bool syncfs_reaches_disk(int fd);

}  // namespace rdcp::tree
