#include "tree/listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "tree/beneath.h"

namespace rdcp::tree {

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using OpenedDirectory = std::unique_ptr<DIR, CloseDirectory>;

struct Level {
  OpenedDirectory directory;
  std::string path;
};

bool is_dot(const std::string& name) {
  return name == "." || name == "..";
}

OpenedDirectory open_at(int parent, const std::string& name) {
  io::Fd fd = open_beneath(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  OpenedDirectory directory(fd ? ::fdopendir(fd.get()) : nullptr);
  if (directory != nullptr) (void)fd.release();
  return directory;
}

}  // namespace

io::Result<void> for_each_beneath(int parent, const std::string& name,
                                  const std::function<void(const std::string&, bool)>& use) {
  struct stat top {};
  std::vector<Level> levels;
  levels.push_back({open_at(parent, name), ""});
  if (levels.back().directory == nullptr || ::fstat(::dirfd(levels.back().directory.get()), &top) != 0) {
    return io::errno_error("list", name);
  }
  while (!levels.empty()) {
    Level& level = levels.back();
    errno = 0;
    const dirent* entry = ::readdir(level.directory.get());
    if (entry == nullptr) {
      if (errno != 0) return io::errno_error("list", join_path(name, level.path));
      if (levels.size() > 1) use(level.path, true);
      levels.pop_back();
      continue;
    }
    const std::string child = entry->d_name;
    if (is_dot(child)) continue;
    const std::string path = join_path(level.path, child);
    const int fd = ::dirfd(level.directory.get());
    struct stat status {};
    if (::fstatat(fd, child.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;  // gone meanwhile
    if (S_ISDIR(status.st_mode) && status.st_dev == top.st_dev) {
      OpenedDirectory below = open_at(fd, child);
      if (below == nullptr) return io::errno_error("list", join_path(name, path));
      levels.push_back({std::move(below), path});
    } else {
      use(path, S_ISDIR(status.st_mode));
    }
  }
  return {};
}

}  // namespace rdcp::tree
