// The metadata system calls on an inode that is held by a descriptor, whatever kind of descriptor that is.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <ctime>

namespace rdcp::tree {

// Calls answer as the system calls do: -1 and errno. An O_PATH descriptor, the only kind that a symlink or a
// device can be held by, takes no fchmod(2) and no f*xattr(2): these go through /proc/self/fd, which leads to
// the inode itself and not on to where a symlink points (proc(5)). The descriptor is the caller's.
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
