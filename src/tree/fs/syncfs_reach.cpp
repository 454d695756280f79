#include "tree/fs/syncfs_reach.h"

#include <linux/magic.h>
#include <sys/vfs.h>

namespace rdcp::tree {

bool syncfs_reaches_disk(int fd) {
  struct statfs status {};
  return ::fstatfs(fd, &status) == 0 && status.f_type != FUSE_SUPER_MAGIC;
}

}  // namespace rdcp::tree
