#include "tree/mirror/backups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#include "tree/fs/beneath.h"
#include "tree/fs/special.h"
#include "tree/meta/entry_path.h"
#include "tree/meta/kept_times.h"

namespace rdcp::tree {
namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

// Gives a directory of backups the owner and permissions of the one that they come from. Only root can give
// it to somebody else; all others own what they make.
void make_alike(int made, const struct stat& origin) {
  const bool given = ::fchown(made, origin.st_uid, origin.st_gid) == 0;
  (void)::fchmod(made, S_IRWXU | (origin.st_mode & (given ? 07777 : 0777)));
}

io::Error not_kept(std::string_view subject, const std::string& backup, int code) {
  std::string why = "its backup " + backup + " cannot be made: " + std::strerror(code) + "; it was left";
  if (code == EPERM || code == EOPNOTSUPP || code == EMLINK) why += " (a backup is a hard link at first)";
  io::Error error = io::plain_error(io::ErrorKind::file, "replace", subject, why);
  // Whoever owns the directory may grant himself access and try again; a full disk ends the run.
  if (code == EACCES || code == ENOSPC || code == EDQUOT || code == EROFS) error.code = code;
  return error;
}

bool is_link_to(int directory, const std::string& name, const std::string& content) {
  char target[PATH_MAX];
  const ssize_t length = ::readlinkat(directory, name.c_str(), target, sizeof target);
  return length >= 0 && std::string_view(target, static_cast<std::size_t>(length)) == content;
}

// The clock that the kernel takes a ctime from.
timespec coarse_time() {
  timespec now{};
  (void)::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now;
}

}  // namespace

Backups::Backups(int root, const RemovalGate& gate, OpenedDirectories& opened, Losses& losses)
    : root_(root), gate_(gate), opened_(opened), losses_(losses), began_(coarse_time()) {}

bool Backups::is_of_this_run(const struct stat& status) const {
  const timespec& changed = status.st_ctim;
  return repeats_ && std::tie(changed.tv_sec, changed.tv_nsec) >= std::tie(began_.tv_sec, began_.tv_nsec);
}

// Returns true if the old entry says what the coming one says, as far as the copy compares content.
bool Backups::equals(const Entry& coming, int directory, const std::string& name,
                     const struct stat& old) const {
  const auto is_file = [&](std::uint64_t size, std::int64_t seconds, std::int64_t nanoseconds) {
    return trusts_times_ && S_ISREG(old.st_mode) && static_cast<std::uint64_t>(old.st_size) == size &&
           old.st_mtim.tv_sec == seconds && old.st_mtim.tv_nsec == nanoseconds;
  };
  struct stat first {};
  switch (coming.type) {
    case EntryType::file:
      return is_file(coming.size, coming.mtime.seconds, coming.mtime.nanoseconds);
    case EntryType::hard_link: {
      const io::Fd fd = open_beneath(root_, EntryPathView(coming.first_name).text(), O_PATH | O_NOFOLLOW);
      if (!fd || ::fstat(fd.get(), &first) != 0) return false;
      if (first.st_dev == old.st_dev && first.st_ino == old.st_ino) return true;
      return S_ISREG(first.st_mode) &&
             is_file(static_cast<std::uint64_t>(first.st_size), first.st_mtim.tv_sec, first.st_mtim.tv_nsec);
    }
    case EntryType::symlink:
      return S_ISLNK(old.st_mode) && is_link_to(directory, name, coming.link_target);
    case EntryType::fifo:
      return S_ISFIFO(old.st_mode);
    case EntryType::socket:
      return S_ISSOCK(old.st_mode);
    case EntryType::char_device:
      return S_ISCHR(old.st_mode) && old.st_rdev == coming.device;
    case EntryType::block_device:
      return S_ISBLK(old.st_mode) && old.st_rdev == coming.device;
    case EntryType::directory:
      break;
  }
  return false;
}

// Makes a directory, and opens up the one that it lies in if need be. Returns false on failure, with errno
// set.
bool Backups::make_directory(int parent, std::string_view path) const {
  const SplitPath split = split_path(path);
  const std::string name(split.name);
  const auto make = [&] { return ::mkdirat(parent, name.c_str(), S_IRWXU) == 0; };
  if (make()) return true;
  return errno == EACCES && opened_.open_up(parent, split.parent) != OpenedDirectories::Access::no && make();
}

// Does the same for one that lies in a directory of the source's, which may be equal otherwise.
bool Backups::make_in_destination(int parent, std::string_view path) const {
  const std::lock_guard lock(making_);
  bool made = false;
  int cause = 0;
  with_times_kept(parent, split_path(path).parent, losses_, [&] {
    made = make_directory(parent, path);
    cause = errno;
  });
  errno = cause;
  return made;
}

// Opens the directory at this path, and makes it like `origin` if it is missing. in_destination: it does not
// lie in the backup directory, but is that or leads there. Returns no descriptor on failure, with errno set.
io::Fd Backups::enter(int parent, std::string_view path, std::string_view origin, bool in_destination) const {
  const std::string name(split_path(path).name);
  io::Fd child = open_beneath(parent, name, kOpenDirectory);
  if (!child && errno == ENOENT) {
    const bool made = in_destination ? make_in_destination(parent, path) : make_directory(parent, path);
    if (!made && errno != EEXIST) return {};
    child = open_beneath(parent, name, kOpenDirectory);
    struct stat status {};
    const io::Fd like = open_beneath(root_, origin, O_PATH | O_DIRECTORY);
    if (made && child && like && ::fstat(like.get(), &status) == 0) make_alike(child.get(), status);
  }
  if (!child && errno == ELOOP) errno = ENOTDIR;  // it is a symlink
  return child;
}

// Opens the directory `below` in the backup directory, whose path beneath the root is top.
io::Fd Backups::open_directory(std::string_view top, std::string_view below) const {
  const std::string path = join_path(top, below);
  io::Fd reached = open_beneath(root_, path, kOpenDirectory);
  if (reached || errno != ENOENT) {
    if (!reached && errno == ELOOP) errno = ENOTDIR;
    return reached;
  }
  const std::string_view destination = top.substr(0, top.size() - gate_.backup_directory().size());
  int at = root_;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    // A directory that stands for one of the destination is like that one; the rest are like the destination.
    const std::string_view origin =
        end > top.size() ? std::string_view(path).substr(top.size() + 1, end - top.size() - 1) : "";
    const std::string_view parent = destination.empty() ? "" : destination.substr(0, destination.size() - 1);
    reached = enter(at, std::string_view(path).substr(0, end), join_path(parent, origin), end <= top.size());
    if (!reached) return reached;
    at = reached.get();
    begin = end + 1;
  }
  return reached;
}

io::Result<void> Backups::keep(int directory, const std::string& name, std::string_view path,
                               std::string_view subject, const Entry* coming) const {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return io::errno_error("stat", subject);
  }
  if (S_ISDIR(status.st_mode)) return {};
  if (coming != nullptr && equals(*coming, directory, name, status)) return {};
  const SplitPath split = split_path(path);
  const std::string last = std::string(split.name) + gate_.backup_suffix();
  std::string shown = last;
  io::Fd opened;
  int into = directory;
  if (!gate_.backup_directory().empty()) {
    std::string below = gate_.below_destination(path);
    const bool is_destination = below == "." && path != ".";
    const std::string_view destination =
        is_destination ? split.parent : path.substr(0, path.size() - std::min(path.size(), below.size() + 1));
    if (is_destination) below = split.name;
    const std::string top = join_path(destination, gate_.backup_directory());
    const std::string_view parent = split_path(below).parent;
    shown = join_path(join_path(gate_.backup_directory(), parent), last);
    opened = open_directory(top, parent);
    if (!opened) return not_kept(subject, shown, errno);
    (void)opened_.open_up(opened.get(), join_path(top, parent));
    into = opened.get();
  }
  struct stat older {};
  const bool is_there = ::fstatat(into, last.c_str(), &older, AT_SYMLINK_NOFOLLOW) == 0;
  // An old file that has several names may be as young, since a backup is one more name of it.
  if (is_of_this_run(status) && (status.st_nlink == 1 || (is_there && is_of_this_run(older)))) return {};
  if (is_there && gate_.is_source(older)) {
    return io::plain_error(io::ErrorKind::file, "replace", subject,
                           "its backup would replace " + shown + ", which is being copied; it was left");
  }
  if (is_there && S_ISDIR(older.st_mode)) return not_kept(subject, shown, EISDIR);
  const auto linked = make_hard_link({into, last, subject}, directory, name);
  return linked ? linked : not_kept(subject, shown, linked.error().code);
}

}  // namespace rdcp::tree
