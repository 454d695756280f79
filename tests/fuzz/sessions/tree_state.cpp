#include "tests/fuzz/sessions/tree_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "io/fd.h"
#include "tests/fuzz/fuzz.h"

namespace rdcp::fuzz {
namespace {

// Returns none of a directory that this user may not enter, as root always may. Its mode is in its state.
std::vector<std::string> names_of(int directory) {
  struct Close {
    void operator()(DIR* listing) const { ::closedir(listing); }
  };
  const int fd = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == EACCES) return {};
  const std::unique_ptr<DIR, Close> listing(::fdopendir(fd));
  require(listing != nullptr);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

std::string xattrs_of(const std::string& path) {
  std::string names(4096, '\0');
  const ssize_t length = ::llistxattr(path.c_str(), names.data(), names.size());
  std::string all;
  for (ssize_t at = 0; at < length; at += static_cast<ssize_t>(std::strlen(names.data() + at)) + 1) {
    std::string value(65536, '\0');
    const ssize_t bytes = ::lgetxattr(path.c_str(), names.data() + at, value.data(), value.size());
    all += names.data() + at + ('=' + value.substr(0, bytes > 0 ? static_cast<std::size_t>(bytes) : 0)) + ';';
  }
  return all;
}

std::string content_of(int directory, const std::string& name, const struct stat& status) {
  if (S_ISLNK(status.st_mode)) {
    std::string target(4096, '\0');
    const ssize_t length = ::readlinkat(directory, name.c_str(), target.data(), target.size());
    return target.substr(0, length > 0 ? static_cast<std::size_t>(length) : 0);
  }
  if (!S_ISREG(status.st_mode)) return {};
  const io::Fd file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return "unreadable";
  constexpr std::int64_t kContentMax = 256 << 10;  // what is larger is told apart by its times
  std::string content(static_cast<std::size_t>(std::min<std::int64_t>(status.st_size, kContentMax)), '\0');
  const ssize_t bytes = ::pread(file.get(), content.data(), content.size(), 0);
  content.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return content;
}

EntryState entry_of(int directory, const std::string& name, const struct stat& status) {
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + name;
  EntryState state;
  state.inode = status.st_ino;
  state.links = status.st_nlink;
  state.mode = status.st_mode;
  state.uid = status.st_uid;
  state.gid = status.st_gid;
  state.device = S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode) ? status.st_rdev : 0;
  state.size = S_ISDIR(status.st_mode) ? 0 : status.st_size;
  state.mtime = {status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  state.ctime = {status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
  state.content = content_of(directory, name, status);
  state.xattrs = xattrs_of(path);
  return state;
}

void gather(int directory, const std::string& path, TreeState& into) {
  for (const std::string& name : names_of(directory)) {
    struct stat status {};
    require(::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0);
    const std::string below = path.empty() ? name : path + "/" + name;
    into[below] = entry_of(directory, name, status);
    if (!S_ISDIR(status.st_mode)) continue;
    const io::Fd next(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (next) gather(next.get(), below, into);
  }
}

}  // namespace

TreeState state_of(int directory) {
  TreeState state;
  struct stat status {};
  require(::fstat(directory, &status) == 0);
  state[""] = entry_of(directory, ".", status);
  gather(directory, "", state);
  return state;
}

void remove_all_in(int directory) {
  require(::fchmod(directory, 0700) == 0);
  for (const std::string& name : names_of(directory)) {
    if (::unlinkat(directory, name.c_str(), 0) == 0) continue;
    {
      const io::Fd below(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      require(bool(below) || ::fchmodat(directory, name.c_str(), 0700, 0) == 0);
      const io::Fd again(below ? -1 : ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
      const int fd = below ? below.get() : again.get();
      require(fd >= 0 && ::fchmod(fd, 0700) == 0);
      remove_all_in(fd);
    }
    require(::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0);
  }
}

}  // namespace rdcp::fuzz
