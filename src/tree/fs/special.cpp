#include "tree/fs/special.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>

#include "io/fd.h"
#include "tree/fs/own_names.h"
#include "tree/fs/removal_permit.h"

namespace rdcp::tree {
namespace {

constexpr std::string_view kCreate = "create";

mode_t type_bits(EntryType type) {
  switch (type) {
    case EntryType::symlink:
      return S_IFLNK;
    case EntryType::fifo:
      return S_IFIFO;
    case EntryType::socket:
      return S_IFSOCK;
    case EntryType::char_device:
      return S_IFCHR;
    case EntryType::block_device:
      return S_IFBLK;
    default:
      break;
  }
  assert(false && "not a special file");
  return 0;
}

// Makes the bare inode, which only its owner can open until its metadata is set. Returns -1 with errno on
// failure.
int make_inode(int directory, const char* name, const Entry& entry) {
  if (entry.type == EntryType::symlink) return ::symlinkat(entry.link_target.c_str(), directory, name);
  return ::mknodat(directory, name, type_bits(entry.type) | (entry.mode & S_IRWXU), entry.device);
}

io::Fd hold(int directory, const std::string& name) {
  return io::Fd(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

// Finishes what was just made under `name`. This is an error if somebody has put another inode there since:
// one of another kind, or one that has other names elsewhere and is none of our business.
io::Result<void> finish_new(const Place& place, const std::string& name, const Entry& entry,
                            const FinishInode& finish) {
  const io::Fd fd = hold(place.directory, name);
  struct stat status;
  if (!fd || ::fstat(fd.get(), &status) < 0) return io::errno_error("open", place.subject);
  const mode_t type = type_bits(entry.type);
  const bool is_node = S_ISCHR(type) || S_ISBLK(type);
  if ((status.st_mode & S_IFMT) != type || status.st_nlink > 1 ||
      (is_node && status.st_rdev != entry.device)) {
    return io::plain_error(io::ErrorKind::file, "create", place.subject,
                           "another program replaced it while it was being made");
  }
  return finish(fd.get());
}

bool says_the_same(int symlink, const std::string& link_target) {
  std::string content(link_target.size() + 1, '\0');
  const ssize_t length = ::readlinkat(symlink, "", content.data(), content.size());
  return length >= 0 && std::string_view(content.data(), static_cast<std::size_t>(length)) == link_target;
}

io::Result<void> rename_over(const Place& place, const std::string& temporary) {
  if (rename_own(place.directory, temporary, place.directory, place.name) < 0) {
    return io::errno_error("replace", place.subject);
  }
  return {};
}

io::Result<void> replace(const Place& place, const Entry& entry, const FinishInode& finish) {
  const std::string temporary = take_temporary_name(
      place.name, [&](const char* free) { return make_inode(place.directory, free, entry); });
  if (temporary.empty()) return io::errno_error(kCreate, place.subject);
  io::Result<void> done = finish_new(place, temporary, entry, finish);
  if (done) done = rename_over(place, temporary);
  if (!done) (void)remove_own(place.directory, temporary);
  return done;
}

bool is_one_inode(const Place& place, int target_directory, const std::string& target_name) {
  struct stat here;
  struct stat target;
  return ::fstatat(place.directory, place.name.c_str(), &here, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstatat(target_directory, target_name.c_str(), &target, AT_SYMLINK_NOFOLLOW) == 0 &&
         here.st_dev == target.st_dev && here.st_ino == target.st_ino;
}

}  // namespace

bool may_not_make_nodes(const io::Error& error) {
  return error.code == EPERM && error.operation == kCreate;
}

io::Result<void> make_special(const Place& place, const Entry& entry, const FinishInode& finish) {
  if (make_inode(place.directory, place.name.c_str(), entry) == 0) {
    return finish_new(place, place.name, entry, finish);
  }
  if (errno != EEXIST) return io::errno_error(kCreate, place.subject);
  if (entry.type == EntryType::symlink) {
    const io::Fd existing = hold(place.directory, place.name);
    if (existing && says_the_same(existing.get(), entry.link_target)) return finish(existing.get());
  }
  return replace(place, entry, finish);
}

io::Result<void> make_hard_link(const Place& place, int target_directory, const std::string& target_name) {
  const auto link_as = [&](const char* name) {
    return ::linkat(target_directory, target_name.c_str(), place.directory, name, 0);
  };
  if (link_as(place.name.c_str()) == 0) return {};
  if (errno != EEXIST) return io::errno_error("link", place.subject);
  if (is_one_inode(place, target_directory, target_name)) return {};
  const std::string temporary = take_temporary_name(place.name, link_as);
  if (temporary.empty()) return io::errno_error("link", place.subject);
  io::Result<void> done = rename_over(place, temporary);
  // The temporary name is removed after success, too: rename(2) does nothing if both names are one inode,
  // which they may have become since we looked.
  const bool gone = remove_own(place.directory, temporary) == 0 || errno == ENOENT;
  if (done && !gone) return io::errno_error("remove " + temporary + " beside", place.subject);
  return done;
}

bool link_unchanged(const Place& place, int target_directory, const std::string& target_name,
                    const struct stat& looked_at) {
  const std::string temporary = take_temporary_name(place.name, [&](const char* free) {
    return ::linkat(target_directory, target_name.c_str(), place.directory, free, 0);
  });
  if (temporary.empty()) return false;
  struct stat status;
  const bool same = ::fstatat(place.directory, temporary.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                    status.st_dev == looked_at.st_dev && status.st_ino == looked_at.st_ino &&
                    status.st_size == looked_at.st_size && status.st_mode == looked_at.st_mode &&
                    status.st_mtim.tv_sec == looked_at.st_mtim.tv_sec &&
                    status.st_mtim.tv_nsec == looked_at.st_mtim.tv_nsec;
  const bool linked =
      same && ::linkat(place.directory, temporary.c_str(), place.directory, place.name.c_str(), 0) == 0;
  (void)remove_own(place.directory, temporary);  // if this fails, --clean finds it
  return linked;
}

}  // namespace rdcp::tree
