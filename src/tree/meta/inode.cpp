#include "tree/meta/inode.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdio>

namespace rdcp::tree {

Inode::Inode(int fd, bool is_path_fd) : fd_(fd), is_path_fd_(is_path_fd) {
  if (is_path_fd) std::snprintf(proc_path_.data(), proc_path_.size(), "/proc/self/fd/%d", fd);
}

int Inode::status(struct stat& status) const {
  return ::fstat(fd_, &status);
}

int Inode::set_owner(uid_t uid, gid_t gid) const {
  return ::fchownat(fd_, "", uid, gid, AT_EMPTY_PATH);
}

int Inode::set_mode(mode_t mode) const {
  return is_path_fd_ ? ::chmod(proc_path_.data(), mode) : ::fchmod(fd_, mode);
}

int Inode::set_mtime(const timespec& mtime) const {
  // Sets both times, because filesystems of libfuse 2 silently ignore an mtime that comes alone.
  const timespec times[2] = {{0, UTIME_NOW}, mtime};
  // utimensat(2) supports AT_EMPTY_PATH since Linux 5.8.
  return is_path_fd_ ? ::utimensat(fd_, "", times, AT_EMPTY_PATH) : ::futimens(fd_, times);
}

ssize_t Inode::list_xattrs(char* buffer, std::size_t size) const {
  return is_path_fd_ ? ::listxattr(proc_path_.data(), buffer, size) : ::flistxattr(fd_, buffer, size);
}

ssize_t Inode::get_xattr(const char* name, char* buffer, std::size_t size) const {
  return is_path_fd_ ? ::getxattr(proc_path_.data(), name, buffer, size)
                     : ::fgetxattr(fd_, name, buffer, size);
}

int Inode::set_xattr(const char* name, const void* value, std::size_t size) const {
  return is_path_fd_ ? ::setxattr(proc_path_.data(), name, value, size, 0)
                     : ::fsetxattr(fd_, name, value, size, 0);
}

int Inode::remove_xattr(const char* name) const {
  return is_path_fd_ ? ::removexattr(proc_path_.data(), name) : ::fremovexattr(fd_, name);
}

}  // namespace rdcp::tree
