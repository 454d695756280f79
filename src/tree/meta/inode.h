// Metadata system calls on an inode that is held by a descriptor of any kind.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <ctime>

namespace rdcp::tree {

// Each call returns what its system call returns: on failure -1, with errno set. Symlinks and devices can
// only be held by an O_PATH descriptor, and fchmod(2) and f*xattr(2) refuse such descriptors. These calls
// then go through /proc/self/fd, which leads to the inode itself and does not follow it if it is a symlink
// (proc(5)). The caller owns the descriptor.
class Inode {
 public:
  Inode(int fd, bool is_path_fd);

  int status(struct stat& status) const;
  int set_owner(uid_t uid, gid_t gid) const;
  int set_mode(mode_t mode) const;
  int set_mtime(const timespec& mtime) const;

  ssize_t list_xattrs(char* buffer, std::size_t size) const;
  ssize_t get_xattr(const char* name, char* buffer, std::size_t size) const;
  int set_xattr(const char* name, const void* value, std::size_t size) const;
  int remove_xattr(const char* name) const;

 private:
  int fd_;
  bool is_path_fd_;
  std::array<char, 32> proc_path_;
};

}  // namespace rdcp::tree
