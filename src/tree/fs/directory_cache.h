// Keeps directories beneath the target's root open; everything gets its name in one of them.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "io/fd.h"
#include "io/result.h"
#include "tree/fs/opened_directories.h"
#include "tree/fs/removal_permit.h"
#include "tree/meta/entry_path.h"

namespace rdcp::tree {

// Opens directories beneath a root by open_beneath() (beneath.h) and makes those that are missing, with mode
// 0700; their own entries bring their metadata. If we own a directory but may not read, write or search it,
// we grant ourselves these rights (OpenedDirectories). The kCached directories that were
// used last stay open, because reopening the parent for each file costs more than making the file. Not
// thread-safe: each worker has its own.
class DirectoryCache {
 public:
  // root is a descriptor of the directory that the user named. The caller owns it and keeps it open longer
  // than this. opened, for that root, outlives this.
  DirectoryCache(int root, OpenedDirectories& opened) : root_(root), opened_(opened) {}

  // Returns a descriptor of the directory (O_RDONLY | O_DIRECTORY) that is valid until the next call; an
  // empty path is the root itself. Errors name the path beneath root up to the component at fault. The error
  // is ENOTDIR if a component exists but is not a directory (also a symlink).
  io::Result<int> open(EntryPathView path);
  // Decides if something that is not a directory may be removed to make way for a directory of the same name.
  // path is that of the directory beneath root. Leaves errno as it is.
  using GivesWay =
      std::function<std::optional<RemovalPermit>(int parent, const std::string& name, std::string_view path)>;
  // Sets the function that decides this. Without it nothing gives way, and the error is ENOTDIR.
  void ask(GivesWay gives_way) { gives_way_ = std::move(gives_way); }
  // Opens up a directory of this path beneath root. Returns false if that cannot help who met EACCES in it.
  bool open_up(int directory, EntryPathView path) {
    return opened_.open_up(directory, path.text()) != OpenedDirectories::Access::no;
  }
  // Closes all kept directories (after a directory was replaced).
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
  OpenedDirectories& opened_;
  GivesWay gives_way_;
  std::list<Kept> kept_;  // most recently used first
  std::unordered_map<std::string_view, std::list<Kept>::iterator> by_path_;
};

// True for errors that may go away once the kept directories are closed: one of them was removed meanwhile,
// or they use up the descriptors.
bool is_mended_by_forgetting(const io::Error& error);

}  // namespace rdcp::tree
