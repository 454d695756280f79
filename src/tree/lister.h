// Lists a tree in one order, entry by entry, in memory that is bounded by its largest directory and its
// depth.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "io/fd.h"
#include "tree/check_job.h"
#include "tree/held_path.h"
#include "tree/names.h"
#include "tree/reporter.h"

namespace rdcp::tree {

// A directory, or one thing that is none, as a user named it. Symlinks are followed in the name that the user
// gave, and nowhere beneath it.
struct LookedAt {
  io::Fd directory;  // what it is, or what it is in
  std::string name;  // empty: the directory itself
  std::string given;

  static io::Result<LookedAt> open(const std::string& path);
  // How messages name what lies at path beneath it.
  std::string subject(std::string_view path) const;
  // Opens path without changing its access time where we may. See open_beneath().
  io::Fd open_entry(std::string_view path, int flags) const;

  class Reader;
};

// Looks at one path after the other; fast where they come directory by directory. Not thread-safe.
class LookedAt::Reader {
 public:
  explicit Reader(const LookedAt& top) : top_(top), held_(top.directory.get()) {}  // top outlives it

  // False with errno. A symlink is not followed.
  bool stat(std::string_view path, struct stat& status);
  std::optional<std::string> link_target(std::string_view path);
  // For reading; not what it might wait for. As open_entry().
  io::Fd open(std::string_view path);

 private:
  // Where path stands: a directory, -1 with errno if there is none, and the name in it.
  int find(std::string_view path, std::string& name);

  const LookedAt& top_;
  HeldPath held_;
};

// Not thread-safe. Nothing is changed: not even access times, where the files are ours.
class Lister {
 public:
  Lister(const LookedAt& top, const ListJob& job, NameTable& names, Reporter& reporter);
  // False at the end. What cannot be read is reported, and left out.
  bool next(ListedEntry& entry);

 private:
  struct Level {
    std::string path;
    io::Fd fd;
    std::vector<std::string> names;  // the next one last
  };
  static constexpr std::size_t kHeldOpen = 64;

  bool fill(int directory, const std::string& name, const std::string& path, ListedEntry& entry);
  void fill_attributes(int directory, const std::string& name, const std::string& path, ListedEntry& entry);
  void descend(const std::string& path);
  bool hold(Level& level);

  const LookedAt& top_;
  const bool attributes_;
  const MetadataPolicy policy_;
  NameTable& names_;
  Reporter& reporter_;
  std::vector<Level> levels_;
  std::optional<std::string> entered_;  // the directory that was told last, still to be listed
  bool begun_ = false;
};

}  // namespace rdcp::tree
