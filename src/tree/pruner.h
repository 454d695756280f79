// Removes at the target what the source does not have (--delete).
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/result.h"
#include "net/frame.h"
#include "tree/changes.h"
#include "tree/filter.h"
#include "tree/names_page.h"
#include "tree/reporter.h"
#include "tree/sync_settings.h"

namespace rdcp::tree {

// What all workers of a target have in common: how much may go, and whether anything may.
class PruneLimit {
 public:
  explicit PruneLimit(std::uint64_t max) : max_(max) {}
  // Before the workers start: the source, where it is on this host (inode 0: it is not).
  void spare(std::uint64_t device, std::uint64_t inode) {
    device_ = device;
    inode_ = inode;
  }
  bool spares(const struct stat& status) const {
    return inode_ != 0 && status.st_dev == device_ && status.st_ino == inode_;
  }
  // Takes one; false when it is one too many, which is counted.
  bool take() {
    if (taken_.fetch_add(1) < max_) return true;
    ++skipped_;
    return false;
  }
  std::uint64_t skipped() const { return skipped_; }
  // Whether anything may go is decided once, before the first; `told` hears of a no.
  template <class Told>
  bool decide(bool may, Told told) {
    const std::lock_guard lock(mutex_);
    if (!decision_ && !may) told();
    if (!decision_) decision_ = may;
    return *decision_;
  }

 private:
  const std::uint64_t max_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> skipped_{0};
  std::mutex mutex_;
  std::optional<bool> decision_;
};

// One per worker; not thread-safe. All look-ups are beneath the root, and nothing on another filesystem is
// touched. The source's pages name directories and names that stay: it cannot name what goes.
class Pruner {
 public:
  // name_below: of an Entry::path, what stands in a line of changes (Comparer::below_destination).
  Pruner(int root, std::string root_name, const SyncSettings& sync, const Filter& filter, PruneLimit& limit,
         Reporter& reporter, std::function<std::string(std::string_view)> name_below);

  // Verdict 1: the directory has other names here.
  void compare(const std::vector<SummedDirectory>& sums, net::Verdicts& verdicts);
  // Removes what is not among the names, of their part. What goes, or would go, is told in changes.
  void remove_others(const ListedNames& names, std::vector<Change>& changes);

  std::function<bool()> going = [] { return true; };

 private:
  bool may_delete();
  bool counts(const std::string& path, int directory, const dirent& entry) const;
  void remove(int directory, const std::string& name, const std::string& path, std::vector<Change>& changes);

  const int root_;
  const std::string root_name_;
  const SyncSettings sync_;
  const Filter& filter_;
  PruneLimit& limit_;
  Reporter& reporter_;
  const std::function<std::string(std::string_view)> name_below_;
  std::vector<std::string_view> kept_;  // sorted
};

}  // namespace rdcp::tree
