// The only place that decides whether a name at the target may be removed.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "tree/fs/removal_permit.h"
#include "tree/messages/sync_settings.h"
#include "tree/select/filter.h"

namespace rdcp::tree {

// Everything that removes a name beneath the target's root needs a RemovalPermit from here: --delete, and
// whatever replaces something of another type. Rules protect names, --max-delete limits their number, and the
// source is never removed. All workers of a target share one; thread-safe after begin().
class RemovalGate {
 public:
  explicit RemovalGate(const SyncSettings& sync) : sync_(sync) {}
  // To be called before the workers start. The caller owns root and keeps it open longer than this. landing
  // is the Entry::path of DST, if it is an entry and not the root. device and inode identify the source if it
  // is on this host; otherwise inode is 0.
  void begin(int root, Filter filter, std::string landing, std::uint64_t device, std::uint64_t inode);

  const SyncSettings& sync() const { return sync_; }
  // Backups of what is replaced or removed have this suffix, and are in this directory beneath DST, if any.
  // They are protected from now on. To be called before the workers start.
  void keep_backups(std::string suffix, std::string directory);
  const std::string& backup_suffix() const { return backup_suffix_; }
  const std::string& backup_directory() const { return backup_directory_; }
  // True if backups stay in the directory that the entry is in.
  bool keeps_beside() const { return !backup_suffix_.empty() && backup_directory_.empty(); }
  bool has_rules() const { return !filter_.empty() || !backup_suffix_.empty() || !backup_directory_.empty(); }
  // Takes an Entry::path. A protected directory stays with all that is in it.
  bool protects(std::string_view path, bool is_directory) const {
    if (!has_rules()) return false;
    const std::string below = below_destination(path);
    return is_backup(below, is_directory) || filter_.protects(below, is_directory);
  }
  // True for a directory that a source does not enter, because a rule hides it or one above it, if a rule
  // protects one of these: no source that keeps the rules says anything of what is in it. Takes an
  // Entry::path.
  bool is_closed(std::string_view directory) const;
  bool is_source(const struct stat& status) const {
    return inode_ != 0 && status.st_dev == device_ && status.st_ino == inode_;
  }
  // True if the directory is the source or lies in it, and if that cannot be found out.
  bool is_in_source(int directory) const;

  // Returns the permit for something that is not a directory, to make way for a directory of its name.
  // Leaves errno as it is.
  std::optional<RemovalPermit> gives_way_to_directory(int parent, const std::string& name) const;
  // Takes an Entry::path. Returns nothing if a rule protects the entry or it is the source.
  std::optional<RemovalPermit> permit(std::string_view path, const struct stat& status) const;
  // As permit(), and counts the removal for --max-delete, or returns nothing if that would be too many.
  std::optional<RemovalPermit> take(std::string_view path, const struct stat& status);

  // Count removals for --max-delete whose permits come later, by permit(). They return false, and count
  // none, if there would be too many. reserve() sets removals aside for a later take_reserved(), which may
  // take more if more names have come and the limit allows it.
  bool reserve(std::uint64_t names);
  bool take_reserved(std::uint64_t names);
  // How often take() found that there would be too many.
  std::uint64_t skipped() const;

  // Decides once, before the first removal of --delete, whether it may begin; later calls get the same
  // answer. Calls `told` when it decides that it may not.
  template <class Told>
  bool decide(bool may, Told told) {
    const std::lock_guard lock(mutex_);
    if (!decision_ && !may) told();
    if (!decision_) decision_ = may;
    return *decision_;
  }

  // Converts an Entry::path to the form that rules and lines of changes use; DST itself is ".".
  std::string below_destination(std::string_view path) const;

 private:
  bool is_backup(std::string_view below, bool is_directory) const;
  bool has_room_for(std::uint64_t names) const { return names <= sync_.max_delete - taken_ - reserved_; }

  const SyncSettings sync_;
  int root_ = -1;
  Filter filter_;
  std::string landing_;
  std::string backup_suffix_;
  std::string backup_directory_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  mutable std::mutex mutex_;
  std::uint64_t taken_ = 0;  // taken_ + reserved_ never exceed --max-delete
  std::uint64_t reserved_ = 0;
  std::uint64_t skipped_ = 0;
  std::optional<bool> decision_;
};

}  // namespace rdcp::tree
