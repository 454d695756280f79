#include "tree/pruner.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "tree/beneath.h"
#include "tree/directories.h"
#include "tree/own_names.h"
#include "tree/remove.h"

namespace rdcp::tree {

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Listing = std::unique_ptr<DIR, CloseDirectory>;

Listing open_listing(int root, const std::string& path) {
  io::Fd fd = open_beneath(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  Listing listing(fd ? ::fdopendir(fd.get()) : nullptr);
  if (listing != nullptr) (void)fd.release();
  return listing;
}

// Calls use(entry) for each; false when the listing broke off.
template <class Use>
bool for_each_entry(DIR* listing, Use use) {
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(listing);
    if (entry == nullptr) return errno == 0;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") use(*entry);
  }
}

// There is nothing to be deleted where there is no directory.
bool is_missing(int code) {
  return code == ENOENT || code == ENOTDIR || code == ELOOP;
}

}  // namespace

Pruner::Pruner(int root, std::string root_name, const SyncSettings& sync, const Filter& filter,
               PruneLimit& limit, Reporter& reporter, std::function<std::string(std::string_view)> name_below)
    : root_(root),
      root_name_(std::move(root_name)),
      sync_(sync),
      filter_(filter),
      limit_(limit),
      reporter_(reporter),
      name_below_(std::move(name_below)) {}

// Not after any problem here: what could not be put in place may be what keeps something from being extra.
bool Pruner::may_delete() {
  return limit_.decide(reporter_.problems() == 0, [this] {
    reporter_.problem(io::plain_error(io::ErrorKind::file, "delete in", root_name_,
                                      "nothing was deleted, since not all could be copied"));
  });
}

// What is protected is not there for us, nor what runs have left (`rdcp --clean` finds that).
bool Pruner::counts(const std::string& path, int directory, const dirent& entry) const {
  if (is_left_by_a_run(entry.d_name)) return false;
  if (filter_.empty()) return true;
  struct stat status {};
  const bool unknown = entry.d_type == DT_UNKNOWN;
  if (unknown) (void)::fstatat(directory, entry.d_name, &status, AT_SYMLINK_NOFOLLOW);
  const bool is_directory = unknown ? S_ISDIR(status.st_mode) : entry.d_type == DT_DIR;
  return !filter_.protects(name_below_(join_path(path, entry.d_name)), is_directory);
}

void Pruner::compare(const std::vector<SummedDirectory>& sums, net::Verdicts& verdicts) {
  if (!may_delete()) return;
  for (std::size_t i = 0; i < sums.size() && going(); ++i) {
    const Listing listing = open_listing(root_, sums[i].path);
    if (listing == nullptr) {
      if (!is_missing(errno)) {
        reporter_.problem(io::errno_error("list directory", join_path(root_name_, sums[i].path)));
      }
      continue;
    }
    NameSum here;
    const int directory = ::dirfd(listing.get());
    const bool listed = for_each_entry(listing.get(), [&](const dirent& entry) {
      if (counts(sums[i].path, directory, entry)) here.add(entry.d_name);
    });
    if (!listed) continue;
    const bool same = here.count == sums[i].count && here.digest.value() == sums[i].digest;
    verdicts.set(i, same ? 0 : 1);
  }
}

void Pruner::remove_others(const ListedNames& names, std::vector<Change>& changes) {
  if (!may_delete()) return;
  const std::string subject = join_path(root_name_, names.path);
  const Listing listing = open_listing(root_, names.path);
  struct stat before {};
  if (listing == nullptr || ::fstat(::dirfd(listing.get()), &before) != 0) {
    if (!is_missing(errno)) reporter_.problem(io::errno_error("list directory", subject));
    return;
  }
  const int directory = ::dirfd(listing.get());
  kept_ = names.names;
  std::ranges::sort(kept_);
  std::vector<std::string> extra;
  constexpr std::size_t kAtOnce = 1024;  // what is removed while it is listed may hide others
  for (bool more = true; more && going();) {
    extra.clear();
    ::rewinddir(listing.get());
    const bool listed = for_each_entry(listing.get(), [&](const dirent& entry) {
      std::string name = entry.d_name;
      if (part_of(name, names.parts) != names.part || std::ranges::binary_search(kept_, name)) return;
      if (!counts(names.path, directory, entry)) return;
      if (extra.size() <= kAtOnce || sync_.dry_run) extra.push_back(std::move(name));
    });
    if (!listed) break;
    more = extra.size() > kAtOnce && !sync_.dry_run;
    if (extra.empty()) break;
    std::ranges::sort(extra);  // what the run has put beside them may have changed the listing's order
    const bool granted = !sync_.dry_run && grant_owner_access(directory);
    for (const std::string& name : extra) remove(directory, name, join_path(names.path, name), changes);
    if (granted) (void)::fchmod(directory, before.st_mode & 07777);
    if (limit_.skipped() > 0) break;
  }
  // It was right before, or is none of ours.
  const timespec times[2] = {{0, UTIME_OMIT}, before.st_mtim};
  if (!sync_.dry_run) (void)::futimens(directory, times);
}

void Pruner::remove(int directory, const std::string& name, const std::string& path,
                    std::vector<Change>& changes) {
  const std::size_t above = path.size() - name.size();
  MayRemove may_remove;
  const auto is_protected = [&](const std::string& below, bool is_directory) {
    return !filter_.empty() && filter_.protects(name_below_(path.substr(0, above) + below), is_directory);
  };
  may_remove.enter = [&](const std::string& below, const struct stat& status) {
    if (!limit_.spares(status)) return !is_protected(below, true);
    reporter_.problem(io::plain_error(io::ErrorKind::file, "delete", join_path(root_name_, path),
                                      "it is what is being copied, and stays"));
    return false;
  };
  may_remove.remove = [&](const std::string& below, bool is_directory) {
    if (!going() || (!is_directory && is_protected(below, false)) || !limit_.take()) return false;
    if (sync_.tells()) {
      changes.push_back(
          {"*deleting  ", name_below_(path.substr(0, above) + below) + (is_directory ? "/" : ""), ""});
    }
    return true;
  };
  const auto removed = remove_tree(directory, name, join_path(root_name_, path), may_remove, sync_.dry_run);
  if (!removed) reporter_.problem(removed.error());
}

}  // namespace rdcp::tree
