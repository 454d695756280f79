// Directories beneath the target's root, where everything gets its name.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::tree {

// A directory beneath a root, with its parents made on the way; resolved by open_beneath (beneath.h). Missing
// directories are made with mode 0700; their metadata comes with their own entry. A directory of ours that we
// may not read, write or search is given those rights; its own entry takes them away again. Keeps the last
// kCached directories open (LRU), because reopening the parent for each file costs more than making the file.
// Not thread-safe: one per worker.
class Directories {
 public:
  // root: a descriptor of the directory that the user named, owned by the caller, outlives this.
  explicit Directories(int root) : root_(root) {}

  // Descriptor of the directory (O_RDONLY | O_DIRECTORY), valid until the next call; an empty path is the
  // root itself. Errors name the path beneath root up to the component at fault; one that exists but is no
  // directory (symlinks too) is ENOTDIR, a path that is not safe (is_safe_path) a protocol error.
  io::Result<int> open(std::string_view path);
  // Whether what is no directory, and has this name in this directory, may be removed for a directory of that
  // name. Leaves errno as it is.
  using GivesWay = std::function<bool(int parent, const std::string& name)>;
  // Without this nothing gives way: what is no directory is ENOTDIR.
  void ask(GivesWay gives_way) { gives_way_ = std::move(gives_way); }
  // Forgets what is kept (after a directory was replaced).
  void clear() { keep(0); }
  static constexpr std::size_t kCached = 128;

 private:
  struct Kept {
    std::string path;
    io::Fd fd;
  };
  const Kept* find(std::string_view path);
  void keep(std::size_t count);
  io::Result<io::Fd> make_path(std::string_view path);

  int root_;
  GivesWay gives_way_;
  std::list<Kept> kept_;  // most recently used first
  std::unordered_map<std::string_view, std::list<Kept>::iterator> by_path_;
};

// Gives its owner all rights on a directory (u+rwx) when that is us. False when nothing was changed: they are
// there already, or it is not ours.
bool grant_owner_access(int directory);

// True of errors that may come from the directories kept open: one of them was removed meanwhile, or they
// take the descriptors that are now missing.
bool is_mended_by_forgetting(const io::Error& error);

}  // namespace rdcp::tree
