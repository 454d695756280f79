#include "tree/fs/opened_directories.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tree/fs/beneath.h"

namespace rdcp::tree {
namespace {

constexpr mode_t kPermissions = 07777;
// The map needs this for a directory beside its path.
constexpr std::size_t kNoteBytes = 128;

bool is_open(const struct stat& status) {
  return (status.st_mode & S_IRWXU) == S_IRWXU;
}

bool set_permissions(int directory, mode_t permissions) {
  if (::fchmod(directory, permissions) == 0) return true;
  if (errno != EBADF) return false;
  // fchmod(2) refuses an O_PATH descriptor, but the magic link leads to the very same inode.
  const std::string link = "/proc/self/fd/" + std::to_string(directory);
  return ::fchmodat(AT_FDCWD, link.c_str(), permissions, 0) == 0;
}

bool open_up_closed(int directory, const struct stat& status) {
  return status.st_uid == ::geteuid() && !is_open(status) &&
         set_permissions(directory, (status.st_mode & kPermissions) | S_IRWXU);
}

// True if `path` is that directory or lies in it.
bool lies_in(std::string_view path, std::string_view directory) {
  return directory.empty() ||
         (path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/'));
}

}  // namespace

bool grant_owner_access(int directory) {
  const int cause = errno;
  struct stat status {};
  const bool granted = ::fstat(directory, &status) == 0 && open_up_closed(directory, status);
  errno = cause;
  return granted;
}

void OpenedDirectories::begin(int root, std::string root_name) {
  root_ = root;
  root_name_ = std::move(root_name);
}

OpenedDirectories::Access OpenedDirectories::open_up(int directory, std::string_view path) {
  const int cause = errno;
  const std::lock_guard lock(mutex_);
  struct stat status {};
  Access access = Access::no;
  if (::fstat(directory, &status) == 0) {
    const auto noted = found_.find(path);
    const bool was_ours = noted != found_.end() && noted->second.device == status.st_dev &&
                          noted->second.inode == status.st_ino;
    if (open_up_closed(directory, status)) {
      access = Access::now;
      if (!was_ours) note(path, {status.st_dev, status.st_ino, status.st_mode & kPermissions});
    } else if (was_ours && is_open(status)) {
      access = Access::before;
    }
  }
  errno = cause;
  return access;
}

void OpenedDirectories::note(std::string_view path, const Found& found) {
  const std::size_t bytes = path.size() + kNoteBytes;
  if (bytes_ + bytes > bytes_most_) close_but_for(path);
  if (found_.insert_or_assign(std::string(path), found).second) bytes_ += bytes;
}

void OpenedDirectories::forget(std::string_view path) {
  const std::lock_guard lock(mutex_);
  const auto noted = found_.find(path);
  if (noted == found_.end()) return;
  bytes_ -= path.size() + kNoteBytes;
  found_.erase(noted);
}

void OpenedDirectories::close_all() {
  const std::lock_guard lock(mutex_);
  for (; !found_.empty(); found_.erase(std::prev(found_.end())))
    close(found_.rbegin()->first, found_.rbegin()->second);
  bytes_ = 0;
}

void OpenedDirectories::close_but_for(std::string_view path) {
  for (auto at = found_.end(); at != found_.begin();) {
    --at;
    if (lies_in(path, at->first)) continue;
    close(at->first, at->second);
    bytes_ -= at->first.size() + kNoteBytes;
    at = found_.erase(at);
  }
}

void OpenedDirectories::close(const std::string& path, const Found& found) {
  const io::Fd directory = open_beneath(root_, path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!directory && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return;  // it was replaced
  struct stat status {};
  bool closed = directory && ::fstat(directory.get(), &status) == 0;
  if (closed) {
    const bool same = status.st_dev == found.device && status.st_ino == found.inode;
    // The kernel may have taken away setgid when the permissions were set (chmod(2)).
    const bool changed = (status.st_mode & ACCESSPERMS) != ((found.permissions & ACCESSPERMS) | S_IRWXU);
    if (!same || changed) return;
    closed = set_permissions(directory.get(), found.permissions);
  }
  if (!closed) report_(io::errno_error("set mode of", join_path(root_name_, path)));
}

}  // namespace rdcp::tree
