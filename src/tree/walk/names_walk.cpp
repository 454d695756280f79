#include "tree/walk/names_walk.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "net/stream/frame.h"
#include "tree/fs/beneath.h"
#include "tree/fs/own_names.h"
#include "tree/plan/item.h"

namespace rdcp::tree {

namespace {

DirectoryReader open_listing(const Root& root, const std::string& path) {
  return DirectoryReader(root.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
}

io::Error list_error(const Root& root, const std::string& path) {
  return io::errno_error("list directory", join_path(root.given, path));
}

}  // namespace

// Returns whether the entry counts: hidden entries and rdcp's own files do not. Returns nothing, with errno
// set, if that cannot be found out.
std::optional<bool> NamesWalk::counts(const std::string& path, const DirectoryReader& directory,
                                      const dirent& entry) const {
  if (is_left_by_a_run(entry.d_name)) return false;
  if (choice_.filter.empty()) return true;
  const auto enterable = directory.is_directory(entry, root_.stat_flags());
  if (!enterable) return std::nullopt;
  const std::string filter_path = join_path(root_.filter_path, join_path(path, entry.d_name));
  return !choice_.filter.hides(filter_path, *enterable);
}

// Calls use(entry) for each entry of the directory that counts, as long as it returns true. Returns
// false, with errno set, if the listing broke off; then nobody may conclude that a name is missing.
template <class Use>
bool NamesWalk::list(const std::string& path, DirectoryReader& directory, Use use) const {
  while (const dirent* entry = directory.next()) {
    const auto counted = counts(path, directory, *entry);
    if (!counted) return false;
    if (*counted && !use(*entry)) return true;
  }
  return errno == 0;
}

// Returns false if a missing name does not prove that the source lacks it: after any problem, and if the
// source is empty, which may mean that it is not mounted.
bool NamesWalk::may_begin() {
  if (reporter_.problems() > 0) {
    reporter_.problem(io::plain_error(io::ErrorKind::file, "delete at the target", "",
                                      "nothing was deleted, because not everything could be copied"));
    return false;
  }
  NamesBatch top;
  if (!enter("", top) || top.sums.empty()) return false;
  if (top.sums.front().count == 0 && !force_) {
    reporter_.problem(
        io::plain_error(io::ErrorKind::file, "delete at the target", "",
                        "nothing was deleted, because SRC is empty; --force deletes nevertheless"));
    return false;
  }
  levels_.clear();
  return true;
}

bool NamesWalk::take(NamesBatch& batch) {
  batch = {};
  batch.root = &root_;
  if (!std::exchange(begun_, true)) {
    if (!may_begin()) {
      levels_.clear();
      return false;
    }
    (void)enter("", batch);
  }
  while (!levels_.empty() && batch.sums.size() < net::Verdicts::kCount) step(batch);
  return !batch.sums.empty();
}

// Sums up the names of a directory, which is then walked for those beneath it.
bool NamesWalk::enter(std::string path, NamesBatch& batch) {
  Level level;
  level.directory = open_listing(root_, path);
  if (!level.directory) {
    if (errno != ENOENT) reporter_.problem(list_error(root_, path));
    return false;
  }
  struct stat status {};
  if (::fstat(level.directory.fd(), &status) != 0) {
    reporter_.problem(list_error(root_, path));
    return false;
  }
  if (path.empty()) device_ = status.st_dev;
  if (choice_.selection.one_file_system && status.st_dev != device_) return false;
  level.id = FileId::of(status);
  const bool met_before = std::ranges::find(levels_, level.id, &Level::id) != levels_.end();
  if (root_.follows && met_before) return false;  // a symbolic link leads back; the walk has told so
  NameSum sum;
  const auto add = [&](const dirent& entry) { return sum.add(entry.d_name), true; };
  if (!list(path, level.directory, add)) {
    reporter_.problem(list_error(root_, path));
    return false;
  }
  level.directory.rewind();
  batch.sums.push_back({Item::landing_path(root_, path), sum.count, sum.digest.value()});
  batch.paths.push_back(path);
  level.path = std::move(path);
  levels_.push_back(std::move(level));
  if (levels_.size() > kHeldOpen) {
    Level& above = levels_[levels_.size() - 1 - kHeldOpen];
    if (above.directory) above.position = above.directory.position();
    above.directory = {};
  }
  return true;
}

bool NamesWalk::reopen(Level& level) {
  if (level.directory) return true;
  level.directory = open_listing(root_, level.path);
  if (level.directory) level.directory.seek(level.position);
  return static_cast<bool>(level.directory);
}

// Goes on in the deepest directory: into the next one that is in it, or back to the one above.
void NamesWalk::step(NamesBatch& batch) {
  Level& level = levels_.back();
  std::optional<std::string> next;
  const auto find = [&](const dirent& entry) {
    const auto enterable = level.directory.is_directory(entry, root_.stat_flags());
    if (!enterable)
      reporter_.problem(io::errno_error("stat", join_path(root_.given, join_path(level.path, entry.d_name))));
    if (enterable.value_or(false)) next = join_path(level.path, entry.d_name);
    return !next;
  };
  if (!reopen(level) || !list(level.path, level.directory, find)) {
    if (errno != ENOENT) reporter_.problem(list_error(root_, level.path));
  }
  if (next) {
    (void)enter(std::move(*next), batch);
  } else {
    levels_.pop_back();
  }
}

std::size_t NamesWalk::write_names(NamesBatch& batch, std::span<std::byte> slot) const {
  const std::string& path = batch.paths[batch.differing.back()];
  DirectoryReader directory = open_listing(root_, path);
  NamesWriter writer;
  bool fits = directory && writer.begin_names(slot, Item::landing_path(root_, path), batch.parts, batch.part);
  const auto add = [&](const dirent& entry) {
    const std::string_view name = entry.d_name;
    if (part_of(name, batch.parts) == batch.part) fits = writer.add(name);
    return fits;
  };
  if (!directory || (fits && !list(path, directory, add))) {
    reporter_.problem(list_error(root_, path));
    batch.part = batch.parts;
    return 0;
  }
  if (fits) return writer.finish();
  const bool more = batch.parts < kPartsMax;
  if (more) batch.parts *= 4;
  batch.part = more ? 0 : batch.parts;
  return 0;
}

}  // namespace rdcp::tree
