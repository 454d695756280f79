#include "tree/fs/directory_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tree/fs/beneath.h"
#include "tree/meta/entry.h"

namespace rdcp::tree {
namespace {

// Limits the loop below, which a hostile or busy tree could otherwise keep going for ever.
constexpr int kAttempts = 16;

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

using Access = OpenedDirectories::Access;

// Opens up the directory `parent`, at this path, or else its child, which we may not even be able to open for
// reading, so that only O_PATH can hold it. Returns false if neither may help.
bool open_up_way(OpenedDirectories& opened, int parent, const std::string& name, std::string_view path) {
  const Access above = opened.open_up(parent, split_path(path).parent);
  if (above == Access::now) return true;
  const io::Fd child = open_beneath(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  return (child && opened.open_up(child.get(), path) != Access::no) || above == Access::before;
}

// Opens one component and makes it if it is missing. path: its own beneath the root. Returns no descriptor on
// failure, with errno set.
io::Fd enter(int parent, const std::string& name, std::string_view path, OpenedDirectories& opened,
             const DirectoryCache::GivesWay& gives_way) {
  for (int attempt = 1;; ++attempt) {
    io::Fd child = open_beneath(parent, name, kOpenDirectory);
    if (child || attempt == kAttempts) return child;
    if (errno == ENOENT) {
      // EEXIST means that another worker was faster, or that it is not a directory; opening it tells which.
      if (::mkdirat(parent, name.c_str(), 0700) == 0 || errno == EEXIST) continue;
      if (errno != EACCES || opened.open_up(parent, split_path(path).parent) == Access::no) return {};
    } else if (errno == EACCES) {
      const bool may_help = open_up_way(opened, parent, name, path);
      errno = EACCES;
      if (!may_help) return {};
    } else {
      if (errno == ELOOP) errno = ENOTDIR;  // it is a symlink
      if (errno != ENOTDIR || !gives_way) return {};
      const auto permit = gives_way(parent, name, path);
      if (!permit) return {};
      if (remove_name(*permit, parent, name) != 0 && errno != ENOENT) return {};
    }
  }
}

}  // namespace

bool is_mended_by_forgetting(const io::Error& error) {
  return error.code == ENOENT || error.code == EMFILE || error.code == ENFILE;
}

io::Result<int> DirectoryCache::open(EntryPathView wanted) {
  const std::string_view path = wanted.text();
  if (path.empty()) return root_;
  if (const Kept* kept = find(path)) return kept->fd.get();

  io::Result<io::Fd> made = make_path(path);
  if (!made && !kept_.empty() && is_mended_by_forgetting(made.error())) {
    clear();
    made = make_path(path);
  }
  if (!made) return std::move(made).error();
  keep(kCached - 1);
  kept_.push_front({std::string(path), std::move(*made)});
  by_path_.emplace(kept_.front().path, kept_.begin());
  return kept_.front().fd.get();
}

const DirectoryCache::Kept* DirectoryCache::find(std::string_view path) {
  if (!kept_.empty() && kept_.front().path == path) return &kept_.front();
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found->second);
  return &kept_.front();
}

void DirectoryCache::keep(std::size_t count) {
  while (kept_.size() > count) {
    by_path_.erase(kept_.back().path);
    kept_.pop_back();
  }
}

io::Result<io::Fd> DirectoryCache::make_path(std::string_view path) {
  // Starts at the parent if it is kept (a tree is copied in its order), else at the root.
  int held = root_;
  std::size_t begin = 0;
  if (const std::string_view parent = split_path(path).parent; !parent.empty()) {
    if (const auto found = by_path_.find(parent); found != by_path_.end()) {
      held = found->second->fd.get();
      begin = parent.size() + 1;
    }
  }

  io::Fd reached;
  // Most directories exist by now and are opened at once. One that does not, or cannot be opened, is found by
  // going component by component.
  if (path.find('/', begin) != std::string_view::npos) {
    reached = open_beneath(held, path.substr(begin), kOpenDirectory);
    if (reached) return reached;
  }
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    reached =
        enter(held, std::string(path.substr(begin, end - begin)), path.substr(0, end), opened_, gives_way_);
    if (!reached) return io::errno_error("open directory", path.substr(0, end));
    held = reached.get();
    begin = end + 1;
  }
  return reached;
}

}  // namespace rdcp::tree
