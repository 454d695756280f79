#include "tree/remove.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "tree/beneath.h"
#include "tree/directories.h"

namespace rdcp::tree {

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

struct Level {
  std::unique_ptr<DIR, CloseDirectory> directory;
  std::string name;  // in the level above
};

bool is_dot(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

// Open for listing, with the right to remove what is in it where that can be had.
Level enter(int parent, const std::string& name) {
  io::Fd fd = open_beneath(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!fd && errno == EACCES) {
    const io::Fd held = open_beneath(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (held && grant_owner_access(held.get()))
      fd = open_beneath(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  }
  Level level{nullptr, name};
  if (!fd) return level;
  (void)grant_owner_access(fd.get());
  level.directory.reset(::fdopendir(fd.get()));
  if (level.directory != nullptr) (void)fd.release();
  return level;
}

}  // namespace

io::Result<void> remove_tree(int directory, const std::string& name, std::string_view subject) {
  if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return io::errno_error("remove", subject);
  struct stat above {};
  struct stat here {};
  if (::fstat(directory, &above) != 0) return io::errno_error("remove", subject);
  std::vector<Level> levels;
  levels.push_back(enter(directory, name));
  while (!levels.empty()) {
    DIR* const listing = levels.back().directory.get();
    if (listing == nullptr || ::fstat(::dirfd(listing), &here) != 0) {
      return io::errno_error("remove", subject);
    }
    if (here.st_dev != above.st_dev) return io::errno_error("remove", subject, EBUSY);
    const dirent* entry = ::readdir(listing);
    if (entry == nullptr) {
      const Level done = std::move(levels.back());
      levels.pop_back();
      const int parent = levels.empty() ? directory : ::dirfd(levels.back().directory.get());
      if (::unlinkat(parent, done.name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
        return io::errno_error("remove", subject);
      }
      continue;
    }
    if (is_dot(entry->d_name)) continue;
    const std::string child = entry->d_name;
    const int parent = ::dirfd(listing);
    if (::unlinkat(parent, child.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) return io::errno_error("remove", join_path(subject, child));
    levels.push_back(enter(parent, child));
  }
  return {};
}

}  // namespace rdcp::tree
