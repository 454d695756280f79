// Lists a tree in one order, entry by entry. The memory that this takes is bounded by the tree's largest
// directory and its depth.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/fd.h"
#include "tree/fs/directory_cursor.h"
#include "tree/messages/check_job.h"
#include "tree/meta/file_id.h"
#include "tree/meta/names.h"
#include "tree/protocol/reporter.h"

namespace rdcp::tree {

// A directory, or a single object of another kind, as the user named it. Symlinks are followed in the name
// that the user gave, and beneath it only if the user wants that.
struct LookedAt {
  io::Fd directory;  // the directory itself, or the one that the object is in
  std::string name;  // the object's name; empty for the directory itself
  std::string given;
  bool follows = false;  // symlinks beneath it, too (--copy-links)

  static io::Result<LookedAt> open(const std::string& path, bool follows = false);
  // Returns how messages name what is at path beneath it.
  std::string subject(std::string_view path) const;
  // Opens path without changing its access time, if we may. See open_beneath().
  io::Fd open_entry(std::string_view path, int flags) const;
  // Returns AT_SYMLINK_NOFOLLOW for fstatat(2), or 0 if it `follows`.
  int stat_flags() const { return follows ? 0 : AT_SYMLINK_NOFOLLOW; }

  class Reader;
};

// Looks at one path after another. It is fast if they come directory by directory. Not thread-safe.
class LookedAt::Reader {
 public:
  explicit Reader(const LookedAt& top) : top_(top), held_(top.directory.get()) {}  // top outlives it

  // Returns false, with errno, on failure.
  bool stat(std::string_view path, struct stat& status);
  std::optional<std::string> link_target(std::string_view path);
  // Opens path for reading, without blocking. See open_entry() for the access time.
  io::Fd open(std::string_view path);
  // Returns attributes_of() what is at path, which costs one system call where there are none.
  io::Result<std::array<std::byte, 16>> attributes(std::string_view path, const MetadataPolicy& policy,
                                                   NameTable& names);

 private:
  // Returns the directory that path is in, or -1 with errno if there is none, and its name there.
  int find(std::string_view path, std::string& name);

  const LookedAt& top_;
  DirectoryCursor held_;
  io::Fd followed_;  // instead, where symlinks are followed
};

// Changes nothing, not even access times if the files are ours. Not thread-safe.
class Lister {
 public:
  Lister(const LookedAt& top, const ListJob& job, NameTable& names, Reporter& reporter);
  // Returns false at the end. What cannot be read is reported and left out. Xattrs, ACLs and digests are left
  // to Reader.
  bool next(ListedEntry& entry);
  // Is called with each path at or beneath which something is left out, before what follows it comes.
  std::function<void(const std::string& path)> left_out = [](const std::string&) {};

 private:
  struct Level {
    std::string path;
    io::Fd fd;
    std::vector<std::string> names;  // the next one comes last
    FileId id = {};
  };
  static constexpr std::size_t kHeldOpen = 64;

  bool fill(int directory, const std::string& name, const std::string& path, ListedEntry& entry);
  void leave_out(const std::string& path, const io::Error& error);
  void descend(const std::string& path);
  bool hold(Level& level);

  const LookedAt& top_;
  const MetadataPolicy policy_;
  NameTable& names_;
  Reporter& reporter_;
  std::vector<Level> levels_;
  std::optional<std::string> entered_;  // the directory that was returned last, still to be listed
  bool begun_ = false;
};

}  // namespace rdcp::tree
