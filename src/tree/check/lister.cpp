#include "tree/check/lister.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <utility>

#include "tree/check/attributes.h"
#include "tree/fs/beneath.h"
#include "tree/fs/directory_reader.h"
#include "tree/fs/local_path.h"

namespace rdcp::tree {
namespace {

// Like open_beneath() or open_following(), but leaves the access time as it is if it may: only a file's owner
// and root may ask for that.
io::Fd open_quietly(int directory, std::string_view path, int flags, bool follows) {
  const auto open = [&](int how) {
    return follows ? open_following(directory, path, how) : open_beneath(directory, path, how);
  };
  if ((flags & O_PATH) == 0) {
    io::Fd quiet = open(flags | O_NOATIME);
    if (quiet || errno != EPERM) return quiet;
  }
  return open(flags);
}

// Returns the names in a directory, the last in their order first, or nothing, with errno.
std::optional<std::vector<std::string>> names_of(io::Fd directory) {
  DirectoryReader listing(std::move(directory));
  std::vector<std::string> names;
  const auto add = [&](const dirent& entry) { return names.emplace_back(entry.d_name), true; };
  if (!listing || !listing.for_each(add)) return std::nullopt;
  std::sort(names.begin(), names.end(), std::greater<>());
  return names;
}

}  // namespace

bool precedes(std::string_view path, std::string_view other) {
  const std::size_t common = std::min(path.size(), other.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (path[i] == other[i]) continue;
    if (path[i] == '/' || other[i] == '/') return path[i] == '/';
    return static_cast<unsigned char>(path[i]) < static_cast<unsigned char>(other[i]);
  }
  return path.size() < other.size();
}

io::Result<LookedAt> LookedAt::open(const std::string& path, bool follows) {
  LookedAt top;
  top.given = path;
  top.follows = follows;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 && ::lstat(path.c_str(), &status) != 0) {
    return io::errno_error("open", path);
  }
  std::string directory = path;
  if (!S_ISDIR(status.st_mode)) {
    LocalPath real = split_real_path(path);
    directory = std::move(real.directory);
    top.name = std::move(real.name);
  }
  top.directory.reset(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top.directory) return io::errno_error("open", path);
  return top;
}

std::string LookedAt::subject(std::string_view path) const {
  return path.empty() ? given : given.ends_with('/') ? given + std::string(path) : join_path(given, path);
}

io::Fd LookedAt::open_entry(std::string_view path, int flags) const {
  if (name.empty()) return open_quietly(directory.get(), path, flags, follows);
  if (path.empty()) return open_quietly(directory.get(), name, flags, follows);
  errno = ENOTDIR;
  return {};
}

int LookedAt::Reader::find(std::string_view path, std::string& name) {
  if (path.empty() || !top_.name.empty()) {
    name = top_.name.empty() ? "." : top_.name;
    errno = ENOTDIR;
    return path.empty() ? top_.directory.get() : -1;
  }
  const SplitPath split = split_path(path);
  name = split.name;
  if (name == "..") {  // open_beneath() checks only the parent, so this is checked here
    errno = EXDEV;
    return -1;
  }
  if (!top_.follows) return held_.open(split.parent);
  followed_ = open_following(top_.directory.get(), split.parent, O_PATH | O_DIRECTORY);
  return followed_.get();
}

bool LookedAt::Reader::stat(std::string_view path, struct stat& status) {
  std::string name;
  const int directory = find(path, name);
  return directory >= 0 && ::fstatat(directory, name.c_str(), &status, top_.stat_flags()) == 0;
}

std::optional<std::string> LookedAt::Reader::link_target(std::string_view path) {
  std::string name;
  const int directory = find(path, name);
  char target[PATH_MAX];
  const ssize_t length = directory < 0 ? -1 : ::readlinkat(directory, name.c_str(), target, sizeof target);
  if (length < 0) return std::nullopt;
  return std::string(target, static_cast<std::size_t>(length));
}

io::Fd LookedAt::Reader::open(std::string_view path) {
  std::string name;
  const int directory = find(path, name);
  if (directory < 0) return {};
  return open_quietly(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, top_.follows);
}

io::Result<std::array<std::byte, 16>> LookedAt::Reader::attributes(std::string_view path,
                                                                   const MetadataPolicy& policy,
                                                                   NameTable& names) {
  std::string name;
  const int directory = find(path, name);
  if (directory >= 0 && !top_.follows && !may_have_xattrs(directory, name.c_str(), policy)) {
    return std::array<std::byte, 16>{};
  }
  const int nofollow = top_.follows ? 0 : O_NOFOLLOW;
  const io::Fd fd(directory < 0 ? -1 : ::openat(directory, name.c_str(), O_PATH | nofollow | O_CLOEXEC));
  if (!fd) return io::errno_error("open", path);
  return attributes_of(fd.get(), true, policy, names);
}

Lister::Lister(const LookedAt& top, const ListJob& job, NameTable& names, Reporter& reporter)
    : top_(top), policy_(policy_of(job)), names_(names), reporter_(reporter) {}

bool Lister::next(ListedEntry& entry) {
  if (!std::exchange(begun_, true)) {
    return fill(top_.directory.get(), top_.name.empty() ? "." : top_.name, "", entry);
  }
  if (entered_) descend(*std::exchange(entered_, std::nullopt));
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.names.empty() || !hold(level)) {
      levels_.pop_back();
      continue;
    }
    const std::string name = std::move(level.names.back());
    level.names.pop_back();
    if (fill(level.fd.get(), name, join_path(level.path, name), entry)) return true;
  }
  return false;
}

void Lister::leave_out(const std::string& path, const io::Error& error) {
  reporter_.problem(error);
  left_out(path);
}

// Reads a directory's names. The number of levels that stay open is bounded.
void Lister::descend(const std::string& path) {
  io::Fd fd = top_.open_entry(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  auto names = names_of(io::Fd(fd ? ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0) : -1));
  if (!names) {
    leave_out(path, io::errno_error("list directory", top_.subject(path)));
    return;
  }
  struct stat status {};
  if (top_.follows && ::fstat(fd.get(), &status) != 0) {
    leave_out(path, io::errno_error("stat", top_.subject(path)));
    return;
  }
  const FileId id = FileId::of(status);
  if (top_.follows && std::ranges::find(levels_, id, &Level::id) != levels_.end()) {
    leave_out(path, io::plain_error(io::ErrorKind::file, "list directory", top_.subject(path),
                                    "a symbolic link leads back to a directory that this lies in"));
    return;
  }
  if (levels_.size() >= kHeldOpen) levels_.back().fd.reset();
  levels_.push_back({path, std::move(fd), std::move(*names), id});
}

bool Lister::hold(Level& level) {
  if (level.fd) return true;
  level.fd = top_.open_entry(level.path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!level.fd) leave_out(level.path, io::errno_error("open directory", top_.subject(level.path)));
  return static_cast<bool>(level.fd);
}

bool Lister::fill(int directory, const std::string& name, const std::string& path, ListedEntry& entry) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, top_.stat_flags()) != 0) {
    leave_out(path, io::errno_error("stat", top_.subject(path)));
    return false;
  }
  Entry facts;
  fill_from_stat(status, policy_, names_, facts);
  entry = {};
  entry.type = facts.type;
  entry.path = path;
  entry.mode = facts.mode;
  entry.uid = facts.uid;
  entry.gid = facts.gid;
  entry.user = facts.user;
  entry.group = facts.group;
  entry.mtime = facts.mtime.seconds;
  entry.mtime_ns = facts.mtime.nanoseconds;
  entry.size = entry.type == EntryType::file ? facts.size : 0;
  entry.device = facts.device;
  if (entry.type == EntryType::symlink) {
    char target[PATH_MAX];
    const ssize_t length = ::readlinkat(directory, name.c_str(), target, sizeof target);
    if (length < 0) {
      leave_out(path, io::errno_error("read link", top_.subject(path)));
      return false;
    }
    entry.link_target.assign(target, static_cast<std::size_t>(length));
  }
  if (entry.type == EntryType::directory) entered_ = path;
  return true;
}

}  // namespace rdcp::tree
