// The walker where the user has named what is wanted (--files-from).
#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "tree/walker_thread.h"

namespace rdcp::tree {

namespace {

// How many names are dealt with before the directories among them are walked.
constexpr int kNamesAtOnce = 256;

std::size_t prefix_of(const Directory& directory) {
  return directory.local_path.empty() ? 0 : directory.local_path.size() + 1;
}

}  // namespace

// What names say is done before the directory is listed, if it is listed at all.
void Walker::Thread::name_some(Level& level) {
  const NamedPaths& names = walker_.choice_.names;
  for (int i = 0; i < kNamesAtOnce && !level.names.empty(); ++i) {
    add_named(level, names.take_group(level.names, prefix_of(*level.directory)));
  }
}

bool Walker::Thread::is_named(const Level& level, const char* name) const {
  const Directory& directory = *level.directory;
  return !directory.names.empty() && walker_.choice_.names.has(directory.names, prefix_of(directory), name);
}

// A directory on the way to what is named is copied without a look at the filter, but nothing else of it.
void Walker::Thread::add_named(Level& level, NamedPaths::Group group) {
  const Choice& choice = walker_.choice_;
  Item item;
  item.directory = level.directory;
  item.name = group.name;
  if (::fstatat(level.fd.get(), item.name.c_str(), &item.status, AT_SYMLINK_NOFOLLOW) != 0) {
    tell_missing(item, group);
    return;
  }
  const bool wanted = (group.itself || level.directory->whole) && !hides(item);
  if (!S_ISDIR(item.status.st_mode) && !group.beneath.empty()) {
    errno = ENOTDIR;
    tell_missing(item, {group.name, false, false, group.beneath});
    group.beneath = {};
  }
  if (!wanted && group.beneath.empty()) return;
  const bool whole = wanted && (group.content || choice.recursive);
  const dev_t device = wanted ? item.status.st_dev : level.directory->device;
  add_found(level, std::move(item), whole, group.beneath, device);
}

// Each path that was named, with the cause in errno.
void Walker::Thread::tell_missing(const Item& item, const NamedPaths::Group& group) {
  const int cause = errno;
  if (group.itself) walker_.reporter_.problem(io::errno_error("open", item.subject(), cause));
  for (std::size_t at = group.beneath.first; at < group.beneath.last; ++at) {
    const std::string path(walker_.choice_.names.path(at));
    walker_.reporter_.problem(io::errno_error("open", join_path(item.directory->root->given, path), cause));
  }
}

}  // namespace rdcp::tree
