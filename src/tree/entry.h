// One thing in a tree, with its metadata.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"

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

// One line of a POSIX ACL (acl(5)). id and name are for `user` and `group` lines only.
struct AclLine {
  enum class Tag : std::uint8_t { user_obj, user, group_obj, group, mask, other };
  Tag tag = Tag::other;
  std::uint8_t permissions = 0;  // r 4, w 2, x 1
  std::uint32_t id = 0;
  std::string name;  // empty where the source could not look it up
  bool operator==(const AclLine&) const = default;
};

struct Entry {
  EntryType type = EntryType::file;
  // Relative to the root of the copy, components separated by single slashes, no leading slash, no "." or
  // ".."; bytes other than NUL. Empty: the root itself.
  std::string path;
  std::uint32_t mode = 0;  // permission bits with setuid, setgid and sticky: 07777
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string user;   // empty where unknown
  std::string group;  // empty where unknown
  Timestamp mtime;
  std::uint64_t size = 0;   // of a file's content
  std::string link_target;  // symlink: its content, any bytes; hard_link: an Entry::path
  dev_t device = 0;         // char_device, block_device
  std::vector<Xattr> xattrs;
  std::vector<AclLine> access_acl;   // empty: none beyond the mode
  std::vector<AclLine> default_acl;  // directories
  // Of a sparse file within an archive: where its bytes are, in order; empty: everywhere. {{size, 0}}:
  // nowhere.
  std::vector<io::Extent> data;
  // Sets the metadata of what is there already, whose content stays (sync). No directory: an entry of one
  // says no more anyway.
  bool attributes_only = false;
  bool operator==(const Entry&) const = default;
};

// True when path has the form that Entry::path promises. What a peer sends is checked with this before any
// use.
bool is_safe_path(std::string_view path);

// "a/b" -> "a", "b"; "b" -> "", "b".
struct SplitPath {
  std::string_view parent;
  std::string_view name;
};
SplitPath split_path(std::string_view path);

}  // namespace rdcp::tree
