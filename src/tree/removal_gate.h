// The one place that says whether a name at the target may go.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "tree/filter.h"
#include "tree/sync_settings.h"

namespace rdcp::tree {

// Asked before anything is removed beneath the target's root: by --delete, and by whatever is put where
// something else stands. Protected by rules, limited by --max-delete, and never the source. One for all
// workers of a target; thread-safe after begin().
class RemovalGate {
 public:
  explicit RemovalGate(const SyncSettings& sync) : sync_(sync) {}
  // Before the workers start. root: the caller's, outlives this. landing: the Entry::path of the source's
  // top, which is DST. The source is known by device and inode where it is on this host (inode 0: it is not).
  void begin(int root, Filter filter, std::string landing, std::uint64_t device, std::uint64_t inode);

  const SyncSettings& sync() const { return sync_; }
  bool has_rules() const { return !filter_.empty(); }
  // Paths are those of Entry::path. What is protected stays with all that is in it.
  bool protects(std::string_view path, bool is_directory) const {
    return has_rules() && filter_.protects(below_destination(path), is_directory);
  }
  bool is_source(const struct stat& status) const {
    return inode_ != 0 && status.st_dev == device_ && status.st_ino == inode_;
  }
  // Whether the directory is the source, or lies in it; true, too, where that cannot be found out.
  bool is_in_source(int directory) const;
  // Whether what is no directory, and has this name, may be removed for a directory that gets its name.
  // Leaves errno as it is.
  bool gives_way_to_directory(int parent, const std::string& name) const;

  // --max-delete. False: it would be too many, and none is counted as removed. What is reserved is for a
  // later take_reserved(), which is given more where more has come meanwhile.
  bool take();
  bool reserve(std::uint64_t names);
  bool take_reserved(std::uint64_t names);
  // How often it was too many.
  std::uint64_t skipped() const;

  // Whether --delete may begin is decided once, before its first removal; `told` hears of a no.
  template <class Told>
  bool decide(bool may, Told told) {
    const std::lock_guard lock(mutex_);
    if (!decision_ && !may) told();
    if (!decision_) decision_ = may;
    return *decision_;
  }

  // An Entry::path as rules and lines of changes have it: DST itself is ".".
  std::string below_destination(std::string_view path) const;

 private:
  bool has_room_for(std::uint64_t names) const { return names <= sync_.max_delete - taken_ - reserved_; }

  const SyncSettings sync_;
  int root_ = -1;
  Filter filter_;
  std::string landing_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  mutable std::mutex mutex_;
  std::uint64_t taken_ = 0;  // with reserved_ no more than --max-delete
  std::uint64_t reserved_ = 0;
  std::uint64_t skipped_ = 0;
  std::optional<bool> decision_;
};

}  // namespace rdcp::tree
