#include "tree/fs/heard_close.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>

#include "io/fd.h"

namespace rdcp::tree {
namespace {

constexpr std::array<std::uint32_t, 4> kSilent{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                               TMPFS_MAGIC};

}  // namespace

bool close_is_silent(int fd) {
  struct statfs status {};
  if (::fstatfs(fd, &status) != 0) return false;
  return std::ranges::find(kSilent, static_cast<std::uint32_t>(status.f_type)) != kSilent.end();
}

bool syncfs_reaches_disk(int fd) {
  struct statfs status {};
  return ::fstatfs(fd, &status) == 0 && status.f_type != FUSE_SUPER_MAGIC;
}

io::Result<void> hear_close(int fd, std::string_view subject) {
  if (close_is_silent(fd)) return {};
  io::Fd other(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!other || other.close() != 0) return io::errno_error("close", subject);
  return {};
}

}  // namespace rdcp::tree
