#include "tree/fs/unnamed_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tree/fs/heard_close.h"
#include "tree/fs/own_names.h"
#include "tree/fs/removal_permit.h"
#include "tree/meta/acl.h"

namespace rdcp::tree {
namespace {

// Links an open file. Returns -1 with errno on failure.
int link_as(int fd, Naming naming, int directory, const char* name) {
  if (naming == Naming::link_descriptor) return ::linkat(fd, "", directory, name, AT_EMPTY_PATH);
  char link[32];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return ::linkat(AT_FDCWD, link, directory, name, AT_SYMLINK_FOLLOW);
}

// Finds the way to link fd, whose filesystem supports O_TMPFILE, or returns `rename` if there is none (an old
// kernel, no privilege, no /proc). The kernel looks the source up first and then refuses "." with EEXIST, so
// nothing is made.
Naming find_naming(int fd, int directory) {
  for (const Naming naming : {Naming::link_descriptor, Naming::link_proc}) {
    if (link_as(fd, naming, directory, ".") < 0 && errno == EEXIST) return naming;
  }
  return Naming::rename;
}

// True for the errors of openat(2) if a filesystem, a kernel or a sandbox does not support O_TMPFILE. EPERM
// comes from ext4 if the directory was removed; making a file with a name then gives the true cause.
bool lacks_tmpfile(int code) {
  return code == EOPNOTSUPP || code == EISDIR || code == ENOENT || code == EINVAL || code == EPERM;
}

}  // namespace

io::Result<UnnamedFile> UnnamedFile::create(int directory, std::string_view name, std::uint32_t mode,
                                            std::string_view subject, Naming naming) {
  UnnamedFile file;
  file.created_mode_ = mode & 0777;
  if (naming != Naming::rename) {
    if (file.open_without_name(directory, naming)) return file;
    if (!file.fd_ && !lacks_tmpfile(errno)) return io::errno_error("create", subject);
  }
  if (!file.open_under_temporary_name(directory, name)) return io::errno_error("create", subject);
  return file;
}

UnnamedFile UnnamedFile::under_name(io::Fd file, io::Fd directory, std::string name, std::uint32_t mode) {
  UnnamedFile named;
  named.fd_ = std::move(file);
  named.naming_ = Naming::rename;
  named.created_mode_ = mode;
  named.directory_ = std::move(directory);
  named.temporary_name_ = std::move(name);
  named.keeps_name_ = true;
  return named;
}

UnnamedFile::UnnamedFile(UnnamedFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      naming_(other.naming_),
      created_mode_(other.created_mode_),
      directory_(std::move(other.directory_)),
      temporary_name_(std::exchange(other.temporary_name_, {})),
      keeps_name_(other.keeps_name_),
      close_heard_(other.close_heard_) {}

UnnamedFile& UnnamedFile::operator=(UnnamedFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  fd_ = std::move(other.fd_);
  naming_ = other.naming_;
  created_mode_ = other.created_mode_;
  directory_ = std::move(other.directory_);
  temporary_name_ = std::exchange(other.temporary_name_, {});
  keeps_name_ = other.keeps_name_;
  close_heard_ = other.close_heard_;
  return *this;
}

io::Result<void> UnnamedFile::publish(int directory, std::string_view name, std::string_view subject) {
  if (auto heard = hear_close(subject); !heard) return heard;
  const std::string final_name(name);
  int status = 0;
  if (naming_ == Naming::rename) {
    assert(!temporary_name_.empty());
    status = rename_own(directory_.get(), temporary_name_, directory, final_name);
  } else {
    status = link_as(fd_.get(), naming_, directory, final_name.c_str());
    if (status < 0 && errno == EEXIST) status = replace(directory, final_name);
  }
  if (status < 0) return io::errno_error("name", subject);
  temporary_name_.clear();
  directory_.reset();
  return {};
}

io::Result<void> UnnamedFile::hear_close(std::string_view subject) {
  if (!fd_ || std::exchange(close_heard_, true)) return {};
  return tree::hear_close(fd_.get(), subject);
}

io::Result<void> UnnamedFile::close(std::string_view subject) {
  if (fd_.close() < 0) return io::errno_error("close", subject);
  return {};
}

// Returns false if fd_ is open but cannot be given a name later, or if it is not open, with errno.
bool UnnamedFile::open_without_name(int directory, Naming naming) {
  fd_.reset(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, created_mode_));
  if (!fd_) return false;
  naming_ = naming == Naming::automatic ? find_naming(fd_.get(), directory) : naming;
  return naming_ != Naming::rename;
}

bool UnnamedFile::open_under_temporary_name(int directory, std::string_view name) {
  naming_ = Naming::rename;
  created_mode_ &= S_IRWXU;
  fd_.reset();
  directory_.reset(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (!directory_) return false;
  temporary_name_ = take_temporary_name(name, [&](const char* temporary) {
    fd_.reset(
        ::openat(directory, temporary, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, created_mode_));
    return fd_.get();
  });
  // The lock tells `rdcp --clean` that the file is in use.
  if (fd_) (void)::flock(fd_.get(), LOCK_EX | LOCK_NB);
  return !temporary_name_.empty();
}

// An unnamed file cannot be linked over another one, so it gets a temporary name and is renamed. If a
// directory is in the way this fails first, because a file that has lost its only name cannot be linked again
// (linkat(2)).
int UnnamedFile::replace(int directory, const std::string& name) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    return -1;
  }
  const std::string temporary = take_temporary_name(
      name, [&](const char* free) { return link_as(fd_.get(), naming_, directory, free); });
  if (temporary.empty()) return -1;
  if (rename_own(directory, temporary, directory, name) == 0) return 0;
  const int cause = errno;
  (void)remove_own(directory, temporary);
  errno = cause;
  return -1;
}

void UnnamedFile::discard() {
  if (!temporary_name_.empty() && !keeps_name_) (void)remove_own(directory_.get(), temporary_name_);
  temporary_name_.clear();
}

std::uint32_t permissions_without_acl(const std::string& path, std::uint32_t mode) {
  std::array<char, 4096> raw{};
  const ssize_t length = ::getxattr(path.c_str(), kAccessAclXattr, raw.data(), raw.size());
  const bool has_none = length < 0 && (errno == ENODATA || errno == EOPNOTSUPP);
  if (has_none) return mode & 0777;
  std::uint32_t group = 0;
  const auto lines =
      length < 0 ? std::nullopt : parse_acl(std::string_view(raw.data(), static_cast<std::size_t>(length)));
  for (const AclLine& line : lines.value_or(std::vector<AclLine>{})) {
    if (line.tag == AclLine::Tag::group_obj) group = line.permissions;
  }
  return mode & (0707 | (group << 3));
}

}  // namespace rdcp::tree
