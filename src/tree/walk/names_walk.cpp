#include "tree/walk/names_walk.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "net/stream/frame.h"
#include "tree/fs/beneath.h"
#include "tree/fs/own_names.h"
#include "tree/plan/item.h"

namespace rdcp::tree {

namespace {

DIR* open_listing(const Root& root, const std::string& path) {
  io::Fd fd = open_beneath(root.fd.get(), path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  DIR* directory = fd ? ::fdopendir(fd.get()) : nullptr;
  if (directory != nullptr) (void)fd.release();
  return directory;
}

// None, and errno: it cannot be told. What is gone since it was listed is none.
std::optional<bool> is_directory(DIR* directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat status {};
  const bool known = ::fstatat(::dirfd(directory), entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (!known && errno != ENOENT) return std::nullopt;
  return known && S_ISDIR(status.st_mode);
}

io::Error list_error(const Root& root, const std::string& path) {
  return io::errno_error("list directory", join_path(root.given, path));
}

}  // namespace

// Not what is hidden, and not what rdcp itself left there. None, and errno: it cannot be told.
std::optional<bool> NamesWalk::counts(const std::string& path, DIR* directory, const dirent& entry) const {
  if (is_dot(entry.d_name) || is_left_by_a_run(entry.d_name)) return false;
  if (choice_.filter.empty()) return true;
  const auto enterable = is_directory(directory, entry);
  if (!enterable) return std::nullopt;
  const std::string filter_path = join_path(root_.filter_path, join_path(path, entry.d_name));
  return !choice_.filter.hides(filter_path, *enterable);
}

// Calls use(entry) for each entry of the directory that counts, as long as it returns true. False, and errno:
// the listing broke off, so nobody may conclude from it that a name is not there.
template <class Use>
bool NamesWalk::list(const std::string& path, DIR* directory, Use use) const {
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory);
    if (entry == nullptr) return errno == 0;
    const auto counted = counts(path, directory, *entry);
    if (!counted) return false;
    if (*counted && !use(*entry)) return true;
  }
}

// What is not there must surely not be there: after any problem, and where nothing is there at all, the
// source is not what it should be.
bool NamesWalk::may_begin() {
  if (reporter_.problems() > 0) {
    reporter_.problem(io::plain_error(io::ErrorKind::file, "delete at the target", root_.given,
                                      "nothing was deleted, since not all could be copied"));
    return false;
  }
  NamesBatch top;
  if (!enter("", top) || top.sums.empty()) return false;
  if (top.sums.front().count == 0 && !force_) {
    reporter_.problem(io::plain_error(io::ErrorKind::file, "delete at the target", root_.given,
                                      "nothing was deleted, since SRC is empty (--force does it)"));
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
  level.directory.reset(open_listing(root_, path));
  if (level.directory == nullptr) {
    if (errno != ENOENT) reporter_.problem(list_error(root_, path));
    return false;
  }
  struct stat status {};
  if (::fstat(::dirfd(level.directory.get()), &status) != 0) {
    reporter_.problem(list_error(root_, path));
    return false;
  }
  if (path.empty()) device_ = status.st_dev;
  if (choice_.selection.one_file_system && status.st_dev != device_) return false;
  NameSum sum;
  const auto add = [&](const dirent& entry) { return sum.add(entry.d_name), true; };
  if (!list(path, level.directory.get(), add)) {
    reporter_.problem(list_error(root_, path));
    return false;
  }
  ::rewinddir(level.directory.get());
  batch.sums.push_back({Item::landing_path(root_, path), sum.count, sum.digest.value()});
  batch.paths.push_back(path);
  level.path = std::move(path);
  levels_.push_back(std::move(level));
  if (levels_.size() > kHeldOpen) {
    Level& above = levels_[levels_.size() - 1 - kHeldOpen];
    if (above.directory != nullptr) above.position = ::telldir(above.directory.get());
    above.directory.reset();
  }
  return true;
}

bool NamesWalk::reopen(Level& level) {
  if (level.directory != nullptr) return true;
  level.directory.reset(open_listing(root_, level.path));
  if (level.directory != nullptr) ::seekdir(level.directory.get(), level.position);
  return level.directory != nullptr;
}

// Goes on in the deepest directory: into the next one that is in it, or back to the one above.
void NamesWalk::step(NamesBatch& batch) {
  Level& level = levels_.back();
  std::optional<std::string> next;
  const auto find = [&](const dirent& entry) {
    const auto enterable = is_directory(level.directory.get(), entry);
    if (!enterable)
      reporter_.problem(io::errno_error("stat", join_path(root_.given, join_path(level.path, entry.d_name))));
    if (enterable.value_or(false)) next = join_path(level.path, entry.d_name);
    return !next;
  };
  if (!reopen(level) || !list(level.path, level.directory.get(), find)) {
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
  const std::unique_ptr<DIR, CloseDirectory> directory(open_listing(root_, path));
  NamesWriter writer;
  bool fits = directory != nullptr &&
              writer.begin_names(slot, Item::landing_path(root_, path), batch.parts, batch.part);
  const auto add = [&](const dirent& entry) {
    const std::string_view name = entry.d_name;
    if (part_of(name, batch.parts) == batch.part) fits = writer.add(name);
    return fits;
  };
  if (directory == nullptr || (fits && !list(path, directory.get(), add))) {
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
