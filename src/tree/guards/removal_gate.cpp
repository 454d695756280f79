#include "tree/guards/removal_gate.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/fd.h"

namespace rdcp::tree {

void RemovalGate::begin(int root, Filter filter, std::string landing, std::uint64_t device,
                        std::uint64_t inode) {
  root_ = root;
  filter_ = std::move(filter);
  landing_ = std::move(landing);
  device_ = device;
  inode_ = inode;
}

void RemovalGate::keep_backups(std::string suffix, std::string directory) {
  backup_suffix_ = std::move(suffix);
  backup_directory_ = std::move(directory);
}

// Also a directory that a backup may be in. Beside what is copied only the suffix tells a backup.
bool RemovalGate::is_backup(std::string_view below, bool is_directory) const {
  if (keeps_beside()) return !is_directory && below.ends_with(backup_suffix_);
  const auto is_within = [](std::string_view path, std::string_view directory) {
    return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
  };
  if (backup_directory_.empty()) return false;
  return is_within(below, backup_directory_) || (is_directory && is_within(backup_directory_, below));
}

bool RemovalGate::is_closed(std::string_view directory) const {
  if (filter_.empty()) return false;
  const std::string below = below_destination(directory);
  if (below == ".") return false;
  bool is_hidden = false;
  bool is_protected = false;
  for (std::size_t end = 0; end < below.size() && !(is_hidden && is_protected); ++end) {
    end = std::min(below.find('/', end), below.size());
    const std::string_view part = std::string_view(below).substr(0, end);
    is_hidden = is_hidden || filter_.hides(part, true);
    is_protected = is_protected || filter_.protects(part, true);
  }
  return is_hidden && is_protected;
}

// Goes no further up than to the root, because no copy has its target within its source.
bool RemovalGate::is_in_source(int directory) const {
  if (inode_ == 0) return false;
  struct stat root {};
  struct stat status {};
  if (::fstat(root_, &root) != 0 || ::fstat(directory, &status) != 0) return true;
  io::Fd above;
  while (!is_source(status)) {
    const bool at_root = status.st_dev == root.st_dev && status.st_ino == root.st_ino;
    if (at_root) return false;
    const ino_t below = status.st_ino;
    const dev_t device_below = status.st_dev;
    above.reset(::openat(above ? above.get() : directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!above || ::fstat(above.get(), &status) != 0) return true;
    if (status.st_ino == below && status.st_dev == device_below) return false;  // moved out of the root
  }
  return true;
}

std::optional<RemovalPermit> RemovalGate::gives_way_to_directory(int parent, const std::string& name) const {
  if (sync_.ignore_existing) return std::nullopt;
  const int cause = errno;
  struct stat status {};
  const bool found = ::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  errno = cause;
  if (!found || S_ISDIR(status.st_mode) || is_source(status)) return std::nullopt;
  return RemovalPermit();
}

std::optional<RemovalPermit> RemovalGate::permit(std::string_view path, const struct stat& status) const {
  if (is_source(status) || protects(path, S_ISDIR(status.st_mode))) return std::nullopt;
  return RemovalPermit();
}

std::optional<RemovalPermit> RemovalGate::take(std::string_view path, const struct stat& status) {
  const auto permitted = permit(path, status);
  if (!permitted) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (has_room_for(1)) return ++taken_, permitted;
  ++skipped_;
  return std::nullopt;
}

bool RemovalGate::reserve(std::uint64_t names) {
  const std::lock_guard lock(mutex_);
  if (!has_room_for(names)) return false;
  reserved_ += names;
  return true;
}

bool RemovalGate::take_reserved(std::uint64_t names) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t more = names - std::min(names, reserved_);
  if (!has_room_for(more)) return false;
  reserved_ -= names - more;
  taken_ += names;
  return true;
}

std::uint64_t RemovalGate::skipped() const {
  const std::lock_guard lock(mutex_);
  return skipped_;
}

std::string RemovalGate::below_destination(std::string_view path) const {
  if (path == landing_ && path.empty()) return ".";
  if (!landing_.empty() && path.starts_with(landing_)) {
    if (path.size() == landing_.size()) return ".";
    if (path[landing_.size()] == '/') path.remove_prefix(landing_.size() + 1);
  }
  return std::string(path);
}

}  // namespace rdcp::tree
