// A file, directory or other object of a tree, with its metadata.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "io/file.h"
#include "tree/meta/entry_path.h"

namespace rdcp::tree {

enum class EntryType : std::uint8_t {
  file,
  directory,
  symlink,
  hard_link,
  fifo,
  socket,
  char_device,
  block_device
};
constexpr EntryType last_of(EntryType) {
  return EntryType::block_device;
}

struct Timestamp {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  bool operator==(const Timestamp&) const = default;
};

struct Xattr {
  std::string name;   // with its namespace, "user.x"
  std::string value;  // bytes
  bool operator==(const Xattr&) const = default;
};

// One line of a POSIX ACL (acl(5)). Only `user` and `group` lines have an id and a name.
struct AclLine {
  enum class Tag : std::uint8_t { user_obj, user, group_obj, group, mask, other };
  Tag tag = Tag::other;
  std::uint8_t permissions = 0;  // r 4, w 2, x 1
  std::uint32_t id = 0;
  std::string name;  // empty if the source could not look it up
  bool operator==(const AclLine&) const = default;
};

struct Entry {
  EntryType type = EntryType::file;
  EntryPath path;
  std::uint32_t mode = 0;  // permission bits with setuid, setgid and sticky: 07777
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string user;   // empty if unknown
  std::string group;  // empty if unknown
  Timestamp mtime;
  std::uint64_t size = 0;   // bytes of a file's content
  std::string link_target;  // symlink: its content, of any bytes
  EntryPath first_name;     // hard_link: the entry that it is another name of
  dev_t device = 0;         // only for char_device and block_device
  std::vector<Xattr> xattrs;
  std::vector<AclLine> access_acl;   // empty if the mode says everything
  std::vector<AclLine> default_acl;  // only for directories
  // Where the data of a sparse file in an archive is, in order. It is empty if the file has no holes, and
  // {{size, 0}} if it is one hole.
  std::vector<io::Extent> data;
  // The target sets the metadata of what it has and keeps the content (sync). Directories never have this
  // flag, because the entry of a directory holds only metadata anyway.
  bool attributes_only = false;
  bool operator==(const Entry&) const = default;
};

}  // namespace rdcp::tree
