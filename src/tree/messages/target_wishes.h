// The message that says what a user wants of the target beyond the job. Since version 11.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tree/messages/message_type.h"
#include "tree/meta/entry_path.h"

namespace rdcp::tree {

// As many as rsync takes.
inline constexpr std::size_t kLinkDirectoriesMax = 20;

// Comes before the job, and only if the user wants any of it: an agent of an older version does not know it.
struct TargetWishes {
  static constexpr MessageType kType = MessageType::target_wishes;
  static constexpr std::uint32_t kFirstProtocol = 11;
  std::string make_directory;    // --mkpath: make this directory with all above it; empty: none is made
  bool backup = false;           // --backup: keep what is replaced or removed
  std::string backup_suffix;     // what its name then ends with
  std::string backup_directory;  // where it then is, a path beneath DST; empty: where it was
  std::vector<std::string>
      link_directories;  // --link-dest: link what is the same there; absolute, or from DST
  // --remove-source-files: answer for a chunk only when the names of all that is in it are on the disk, and
  // refuse it if something could not be put.
  bool strict = false;
  auto fields() {
    return std::tie(make_directory, backup, backup_suffix, backup_directory, link_directories, strict);
  }

  bool any() const { return *option() != '\0'; }
  // Returns the option of rdcp that asks for one of them, for messages, or nothing.
  const char* option() const {
    if (!make_directory.empty()) return "--mkpath";
    if (backup) return "--backup";
    return !link_directories.empty() ? "--link-dest" : strict ? "--remove-source-files" : "";
  }
  // False if backups would not get names of their own beneath DST, or there are more directories than may be.
  bool are_sound() const {
    if (link_directories.size() > kLinkDirectoriesMax) return false;
    if (backup_suffix.find('/') != backup_suffix.npos || backup_suffix.find('\0') != backup_suffix.npos) {
      return false;
    }
    if (backup_directory.empty()) return !backup || !backup_suffix.empty();
    return is_safe_path(backup_directory);
  }
};

}  // namespace rdcp::tree
