#include "tree/remove.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <utility>
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
  std::string path;
  bool keeps = false;  // something in it stays
};

bool is_dot(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

// One removal: its levels, and what may go.
class Removal {
 public:
  Removal(int top, std::string_view subject, const MayRemove& may_remove, bool dry_run)
      : top_(top), subject_(subject), may_remove_(may_remove), dry_run_(dry_run) {}

  io::Result<void> run(const std::string& name);

 private:
  io::Result<void> remove(int parent, const std::string& name, const std::string& path);
  bool enter(int parent, const std::string& name, const std::string& path);
  io::Result<void> leave();
  bool may_remove(const std::string& path, bool is_directory) const {
    return !may_remove_.remove || may_remove_.remove(path, is_directory);
  }
  io::Error error(const std::string& path, int code = errno) const {
    return io::errno_error("remove", levels_.size() < 2 ? std::string(subject_) : path, code);
  }
  void keep() {
    if (!levels_.empty()) levels_.back().keeps = true;
  }

  const int top_;
  const std::string_view subject_;
  const MayRemove& may_remove_;
  const bool dry_run_;
  dev_t device_ = 0;
  std::vector<Level> levels_;
};

// Open for listing, with the right to remove what is in it where that can be had.
bool Removal::enter(int parent, const std::string& name, const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  io::Fd fd = open_beneath(parent, name, kFlags);
  if (!fd && errno == EACCES && !dry_run_) {
    const io::Fd held = open_beneath(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (held && grant_owner_access(held.get())) fd = open_beneath(parent, name, kFlags);
  }
  if (!fd) return false;
  if (!dry_run_) (void)grant_owner_access(fd.get());
  Level level{nullptr, name, path, false};
  level.directory.reset(::fdopendir(fd.get()));
  if (level.directory == nullptr) return false;
  (void)fd.release();
  levels_.push_back(std::move(level));
  return true;
}

// What is no directory goes; a directory is entered, and goes when it is left.
io::Result<void> Removal::remove(int parent, const std::string& name, const std::string& path) {
  struct stat status {};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return error(path);
  }
  if (S_ISDIR(status.st_mode)) {
    if (status.st_dev != device_) return error(path, EBUSY);
    if (may_remove_.enter && !may_remove_.enter(path, status)) {
      keep();
      return {};
    }
    if (enter(parent, name, path)) return {};
    return error(path);
  }
  if (!may_remove(path, false)) {
    keep();
    return {};
  }
  if (dry_run_ || ::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return error(path);
}

io::Result<void> Removal::leave() {
  const Level done = std::move(levels_.back());
  levels_.pop_back();
  if (done.keeps || !may_remove(done.path, true)) {
    keep();
    return {};
  }
  const int parent = levels_.empty() ? top_ : ::dirfd(levels_.back().directory.get());
  if (dry_run_ || ::unlinkat(parent, done.name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return error(done.path);
}

io::Result<void> Removal::run(const std::string& name) {
  struct stat above {};
  if (::fstat(top_, &above) != 0) return error(name);
  device_ = above.st_dev;
  auto done = remove(top_, name, name);
  while (done && !levels_.empty()) {
    Level& level = levels_.back();
    errno = 0;
    const dirent* entry = ::readdir(level.directory.get());
    if (entry == nullptr && errno != 0) return error(level.path);
    if (entry == nullptr) {
      done = leave();
    } else if (!is_dot(entry->d_name)) {
      const std::string child = entry->d_name;
      const std::string path = join_path(level.path, child);
      done = remove(::dirfd(level.directory.get()), child, path);
    }
  }
  return done;
}

}  // namespace

io::Result<void> remove_tree(int directory, const std::string& name, std::string_view subject,
                             const MayRemove& may_remove, bool dry_run) {
  return Removal(directory, subject, may_remove, dry_run).run(name);
}

}  // namespace rdcp::tree
