#include "tree/fs/remove.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "tree/fs/beneath.h"
#include "tree/fs/directory_reader.h"
#include "tree/fs/opened_directories.h"

namespace rdcp::tree {

namespace {

struct Level {
  DirectoryReader directory;
  std::string name;  // its name in the level above
  std::string path;
  struct stat status;      // as it was when it was entered
  bool opened_up = false;  // we have granted ourselves access, which goes if it stays
  bool keeps = false;      // something in it stays

  void close_up() const {
    if (opened_up) (void)::fchmod(directory.fd(), status.st_mode & 07777);
  }
};

// A bind mount has the same device as its surroundings, so only the kernel can tell (Linux 5.8).
bool is_mount_point(int parent, const std::string& name) {
  struct statx status {};
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  return ::statx(parent, name.c_str(), kFlags, STATX_TYPE, &status) == 0 &&
         (status.stx_attributes & status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
}

// One removal: the levels it is in, and what may be removed.
class Removal {
 public:
  Removal(int top, const std::string& name, std::string_view subject, const MayRemove& may_remove,
          bool dry_run)
      : top_(top), name_(name), subject_(subject), may_remove_(may_remove), dry_run_(dry_run) {}

  io::Result<bool> run();

 private:
  io::Result<void> remove(int parent, const std::string& name, const std::string& path);
  bool enter(int parent, const std::string& name, const std::string& path, const struct stat& status);
  io::Result<void> take_away(int parent, const std::string& name, const std::string& path,
                             const struct stat& status);
  io::Result<void> leave();
  std::string subject_of(const std::string& path) const {
    return std::string(subject_) + path.substr(name_.size());
  }
  io::Error error(const std::string& path) const { return io::errno_error("remove", subject_of(path)); }
  io::Result<void> keep() {
    (levels_.empty() ? keeps_ : levels_.back().keeps) = true;
    return {};
  }

  const int top_;
  const std::string& name_;
  const std::string_view subject_;
  const MayRemove& may_remove_;
  const bool dry_run_;
  dev_t device_ = 0;
  bool keeps_ = false;
  std::vector<Level> levels_;
};

// Opens a directory for listing, and grants us the right to remove what is in it if that is possible.
bool Removal::enter(int parent, const std::string& name, const std::string& path, const struct stat& status) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  io::Fd fd = open_beneath(parent, name, kFlags);
  bool opened_up = false;
  if (!fd && errno == EACCES && !dry_run_) {
    const io::Fd held = open_beneath(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    opened_up = held && grant_owner_access(held.get());
    if (opened_up) fd = open_beneath(parent, name, kFlags);
  }
  if (!fd) return false;
  if (!dry_run_ && grant_owner_access(fd.get())) opened_up = true;
  DirectoryReader directory(std::move(fd));
  if (!directory) return false;
  levels_.push_back({std::move(directory), name, path, status, opened_up});
  return true;
}

// Removes an entry that is not a directory. A directory is entered, and removed when it is left.
io::Result<void> Removal::remove(int parent, const std::string& name, const std::string& path) {
  struct stat status {};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return error(path);
  }
  if (may_remove_.look && !may_remove_.look(path, status)) return keep();
  // Before Linux 5.8 only a directory's device tells. A file that is a mount point gives EBUSY.
  const bool is_directory = S_ISDIR(status.st_mode);
  if ((is_directory && status.st_dev != device_) ||
      ((is_directory || dry_run_) && is_mount_point(parent, name))) {
    return io::plain_error(io::ErrorKind::file, "remove", subject_of(path),
                           "is on another filesystem or is a mount point, and was left");
  }
  if (is_directory) {
    if (enter(parent, name, path, status)) return {};
    return error(path);
  }
  return take_away(parent, name, path, status);
}

io::Result<void> Removal::take_away(int parent, const std::string& name, const std::string& path,
                                    const struct stat& status) {
  const auto permit = may_remove_.remove ? may_remove_.remove(path, status) : std::nullopt;
  if (!permit) return keep();
  const bool is_directory = S_ISDIR(status.st_mode);
  const int flags = is_directory ? AT_REMOVEDIR : 0;
  if (!is_directory && may_remove_.back_up) {
    if (may_remove_.backs_up_beside && !levels_.empty()) levels_.back().keeps = true;
    const auto kept = dry_run_ ? io::Result<void>() : may_remove_.back_up(parent, name, path);
    if (!kept) return kept;
  }
  if (dry_run_ || remove_name(*permit, parent, name, flags) == 0 || errno == ENOENT) return {};
  return error(path);
}

io::Result<void> Removal::leave() {
  const Level done = std::move(levels_.back());
  levels_.pop_back();
  done.close_up();
  if (done.keeps) return keep();
  const int parent = levels_.empty() ? top_ : levels_.back().directory.fd();
  return take_away(parent, done.name, done.path, done.status);
}

io::Result<bool> Removal::run() {
  struct stat above {};
  if (::fstat(top_, &above) != 0) return error(name_);
  device_ = above.st_dev;
  auto done = remove(top_, name_, name_);
  while (done && !levels_.empty()) {
    Level& level = levels_.back();
    const dirent* entry = level.directory.next();
    if (entry == nullptr && errno != 0) {
      done = io::errno_error("list directory", subject_of(level.path));
    } else if (entry == nullptr) {
      done = leave();
    } else {
      const std::string child = entry->d_name;
      const std::string path = join_path(level.path, child);
      done = remove(level.directory.fd(), child, path);
    }
  }
  for (const Level& level : levels_) level.close_up();
  if (!done) return done.error();
  return !keeps_;
}

}  // namespace

io::Result<bool> remove_tree(int directory, const std::string& name, std::string_view subject,
                             const MayRemove& may_remove, bool dry_run) {
  return Removal(directory, name, subject, may_remove, dry_run).run();
}

}  // namespace rdcp::tree
