// The walker where the user has named what is wanted (--files-from).
#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "tree/walk/walker_thread.h"

namespace rdcp::tree {

namespace {

// How many names are dealt with before the directories among them are walked.
constexpr int kNamesAtOnce = 256;

std::size_t prefix_of(const DirectoryTracker& directory) {
  return directory.local_path().empty() ? 0 : directory.local_path().size() + 1;
}

}  // namespace

// Adds the entries that the user named, before the directory is listed, if it is listed at all.
void Walker::Thread::name_some(Level& level) {
  const NamedPaths& names = walker_.choice_.names;
  for (int i = 0; i < kNamesAtOnce && !level.names.empty(); ++i) {
    add_named(level, names.take_group(level.names, prefix_of(*level.directory)));
  }
}

bool Walker::Thread::is_named(const Level& level, const char* name) const {
  const NamedPaths::Range& names = level.directory->scope().names;
  return !names.empty() && walker_.choice_.names.has(names, prefix_of(*level.directory), name);
}

// A directory on the way to what is wanted is copied without a look at the filter, but nothing else of it.
void Walker::Thread::add_named(Level& level, NamedPaths::Group group) {
  const Choice& choice = walker_.choice_;
  const Root& root = level.directory->root();
  Item item;
  item.directory = level.directory;
  item.name = group.name;
  const bool found = ::fstatat(level.fd.get(), item.name.c_str(), &item.status, root.stat_flags()) == 0;
  if (!found && group.itself) walker_.reading_.reporter.problem(io::errno_error("open", item.subject()));
  const bool wanted = found && (group.itself || level.directory->scope().whole) && !hides(item);
  const bool passable =
      found && S_ISDIR(item.status.st_mode) && (wanted || leads_to_wanted(root, group.beneath));
  if (!passable) {
    tell_missing(root, group.beneath);
    group.beneath = {};
  }
  if (!wanted && !passable) return;
  const bool whole = wanted && (group.content || choice.recursive);
  const dev_t device = wanted ? item.status.st_dev : level.directory->scope().device;
  add_found(level, std::move(item), {.whole = whole, .names = group.beneath, .device = device});
}

// The inode of a path that was named; false, and errno, where there is none.
bool Walker::Thread::look_up(const Root& root, std::size_t named, struct stat& status) const {
  const io::Fd fd = root.open(walker_.choice_.names.path(named), O_PATH | O_NOFOLLOW);
  return fd && ::fstat(fd.get(), &status) == 0;
}

bool Walker::Thread::leads_to_wanted(const Root& root, const NamedPaths::Range& names) const {
  const Choice& choice = walker_.choice_;
  for (std::size_t named = names.first; named < names.last; ++named) {
    struct stat status {};
    if (!look_up(root, named, status)) continue;
    const std::string path = join_path(root.filter_path, choice.names.path(named));
    if (!choice.filter.hides(path, S_ISDIR(status.st_mode))) return true;
  }
  return false;
}

void Walker::Thread::tell_missing(const Root& root, const NamedPaths::Range& names) {
  for (std::size_t named = names.first; named < names.last; ++named) {
    struct stat status {};
    if (look_up(root, named, status)) continue;
    const std::string path = join_path(root.given, walker_.choice_.names.path(named));
    walker_.reading_.reporter.problem(errno == ELOOP
                                          ? io::plain_error(io::ErrorKind::file, "open", path,
                                                            "a symbolic link leads there; none is followed")
                                          : io::errno_error("open", path));
  }
}

}  // namespace rdcp::tree
