// Everything that can be seen of a tree, to tell whether anything of it has changed.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace rdcp::fuzz {

struct EntryState {
  std::uint64_t inode = 0;
  std::uint64_t links = 0;
  std::uint32_t mode = 0;
  std::uint32_t uid = 0, gid = 0;
  std::uint64_t device = 0;  // of a device node
  std::int64_t size = 0;
  std::pair<std::int64_t, std::int64_t> mtime, ctime;  // ctime shows what was changed and put back
  std::string content;                                 // of a file, or the target of a symlink
  std::string xattrs;                                  // names and values, ACLs among them
  bool operator==(const EntryState&) const = default;
};

// By path beneath the directory, which is "" itself. No symlink is followed.
using TreeState = std::map<std::string, EntryState>;

TreeState state_of(int directory);
// Removes what is in the directory, but not the directory.
void remove_all_in(int directory);

}  // namespace rdcp::fuzz
