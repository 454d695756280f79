#include "tree/mirror/pruner.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tree/fs/beneath.h"
#include "tree/fs/directory_reader.h"
#include "tree/fs/opened_directories.h"
#include "tree/fs/own_names.h"
#include "tree/fs/remove.h"
#include "tree/meta/kept_times.h"

namespace rdcp::tree {

namespace {

// Removing entries while a directory is listed may hide others, so it is listed again after this many.
constexpr std::size_t kAtOnce = 4 << 10;

// There is nothing to be deleted where there is no directory.
bool is_missing(int code) {
  return code == ENOENT || code == ENOTDIR || code == ELOOP;
}

}  // namespace

Pruner::Pruner(int root, std::string root_name, RemovalGate& gate, Reporter& reporter, Losses& losses)
    : root_(root),
      root_name_(std::move(root_name)),
      sync_(gate.sync()),
      gate_(gate),
      reporter_(reporter),
      losses_(losses) {}

// Returns false after any problem here, because an entry that could not be put in place may be the reason why
// another one looks extra.
bool Pruner::may_delete() {
  return gate_.decide(reporter_.problems() == 0, [this] {
    reporter_.problem(io::plain_error(io::ErrorKind::file, "delete in", root_name_,
                                      "nothing was deleted, because not everything could be copied"));
  });
}

// Protected entries are passed over, and so are files that runs have left (`rdcp --clean` finds them).
bool Pruner::counts(EntryPathView path, const DirectoryReader& listing, const dirent& entry) const {
  if (is_left_by_a_run(entry.d_name)) return false;
  if (!gate_.has_rules()) return true;
  return !gate_.protects(join_path(path.text(), entry.d_name), listing.is_directory(entry).value_or(false));
}

void Pruner::compare(const std::vector<SummedDirectory>& sums, net::Verdicts& verdicts) {
  if (!may_delete()) return;
  for (std::size_t i = 0; i < sums.size() && going(); ++i) {
    DirectoryReader listing = DirectoryReader::open(root_, sums[i].path);
    if (!listing && is_missing(errno)) continue;
    NameSum here;
    const auto sum_up = [&](const dirent& entry) {
      if (counts(sums[i].path, listing, entry)) here.add(entry.d_name);
      return true;
    };
    if (!listing || !listing.for_each(sum_up)) {
      reporter_.problem(io::errno_error("list directory", join_path(root_name_, sums[i].path)));
      continue;
    }
    const bool same = here.count == sums[i].count && here.digest.value() == sums[i].digest;
    verdicts.set(i, same ? 0 : 1);
  }
}

// The first names in their order behind the last that was looked at, so that what cannot go is looked at
// once. False with errno: the listing broke off.
bool Pruner::find_extra(DirectoryReader& listing, const ListedNames& names) {
  extra_.clear();
  const auto keep_first = [this] {
    if (extra_.size() <= kAtOnce) return;
    std::ranges::nth_element(extra_, extra_.begin() + kAtOnce);
    extra_.resize(kAtOnce);
  };
  listing.rewind();
  const bool listed = listing.for_each([&](const dirent& entry) {
    const std::string_view name = entry.d_name;
    if (!last_.empty() && name <= last_) return true;
    if (part_of(name, names.parts) != names.part || std::ranges::binary_search(kept_, name)) return true;
    if (!counts(names.path, listing, entry)) return true;
    extra_.emplace_back(name);
    if (extra_.size() == 2 * kAtOnce) keep_first();
    return true;
  });
  keep_first();
  std::ranges::sort(extra_);
  if (!extra_.empty()) last_ = extra_.back();
  return listed;
}

void Pruner::remove_others(const ListedNames& names, const Tell& tell) {
  if (!may_delete()) return;
  const std::string subject = join_path(root_name_, names.path);
  DirectoryReader listing = DirectoryReader::open(root_, names.path);
  if (!listing) {
    if (!is_missing(errno)) reporter_.problem(io::errno_error("list directory", subject));
    return;
  }
  with_times_kept(listing.fd(), subject, losses_, [&] { remove_extra(listing, names, subject, tell); });
  if (sync_.dry_run || last_.empty()) return;
  if (const auto flushed = flush(listing.fd(), subject); !flushed) reporter_.problem(flushed.error());
}

void Pruner::remove_extra(DirectoryReader& listing, const ListedNames& names, const std::string& subject,
                          const Tell& tell) {
  const int directory = listing.fd();
  kept_ = names.names;
  std::ranges::sort(kept_);
  last_.clear();
  while (going() && gate_.skipped() == 0) {
    if (!find_extra(listing, names)) {
      reporter_.problem(io::errno_error("list directory", subject));
      return;
    }
    if (extra_.empty()) return;
    if (gate_.is_in_source(directory)) {
      reporter_.problem(io::plain_error(io::ErrorKind::file, "delete in", subject,
                                        "it is being copied, so it was left as it is"));
      return;
    }
    struct stat before {};
    const bool granted = !sync_.dry_run && ::fstat(directory, &before) == 0 && grant_owner_access(directory);
    for (const std::string& name : extra_) remove(directory, name, join_path(names.path, name), tell);
    if (granted && ::fchmod(directory, before.st_mode & 07777) != 0)
      reporter_.problem(io::errno_error("set mode of", subject));
    if (extra_.size() < kAtOnce) return;
  }
}

void Pruner::remove(int directory, const std::string& name, const std::string& path, const Tell& tell) {
  const auto entry_path = [&](const std::string& below) { return path + below.substr(name.size()); };
  MayRemove may_remove;
  may_remove.look = [&](const std::string& below, const struct stat& status) {
    if (!gate_.is_source(status)) {
      return !gate_.has_rules() || !gate_.protects(entry_path(below), S_ISDIR(status.st_mode));
    }
    reporter_.problem(io::plain_error(io::ErrorKind::file, "delete", join_path(root_name_, path),
                                      "it is being copied, so it was left"));
    return false;
  };
  may_remove.remove = [&](const std::string& below, const struct stat& status) {
    const auto permit = going() ? gate_.take(entry_path(below), status) : std::nullopt;
    if (permit && sync_.tells()) {
      const std::string told = gate_.below_destination(entry_path(below));
      tell({"*deleting  ", told + (S_ISDIR(status.st_mode) ? "/" : ""), ""});
    }
    return permit;
  };
  if (backups != nullptr) {
    may_remove.back_up = [&](int parent, const std::string& last, const std::string& below) {
      return backups->keep(parent, last, entry_path(below), join_path(root_name_, entry_path(below)));
    };
    may_remove.backs_up_beside = gate_.keeps_beside();
  }
  const auto removed = remove_tree(directory, name, join_path(root_name_, path), may_remove, sync_.dry_run);
  if (!removed) reporter_.problem(removed.error());
}

}  // namespace rdcp::tree
