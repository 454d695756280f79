#include "tree/resume/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tree/fs/beneath.h"
#include "tree/fs/own_names.h"
#include "tree/fs/removal_permit.h"
#include "tree/resume/own_lock.h"

namespace rdcp::tree {
namespace {

// Limits how often it is tried again because another run has removed the journal just as it was opened here.
constexpr int kAttempts = 16;
constexpr int kOpenOld = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
constexpr int kOpenNew = O_RDWR | O_NOFOLLOW | O_CREAT | O_EXCL;
constexpr mode_t kMode = 0600;

bool is_own_file(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
}

// True if nobody else can have changed its content.
bool is_sound(const struct stat& status) {
  return is_own_file(status) && status.st_nlink == 1 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_private(const struct stat& status) {
  return is_sound(status) && (status.st_mode & 07777) == kMode;
}

// Returns no descriptor, and sets errno to `cause`.
io::Fd none(int cause) {
  errno = cause;
  return {};
}

// Returns no descriptor, for a file that could not be locked. A new one is removed if there are no locks,
// because another run would not see that it is in use.
io::Fd unlocked(int directory, const std::string& name, bool is_new) {
  const int cause = errno;
  if (is_new && lacks_locks(cause)) (void)remove_own(directory, name);
  return none(cause);
}

// A missing name is not an error.
io::Result<void> removed(int directory, const std::string& name) {
  if (remove_own(directory, name) != 0 && errno != ENOENT) return io::errno_error("remove", name);
  return {};
}

io::Fd open_journal(int directory, const std::string& name, const PartWish& wish) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    io::Fd fd = open_beneath(directory, name, kOpenOld);
    const bool is_new = !fd && errno == ENOENT;
    if (is_new) fd = open_beneath(directory, name, kOpenNew, kMode);
    if (!fd && errno == EEXIST) continue;
    if (!fd) return none(errno);
    if (!wish.lock(fd.get())) return unlocked(directory, name, is_new);
    struct stat status {};
    const int cause = ::fstat(fd.get(), &status) != 0 ? errno : 0;
    if (cause == 0 && status.st_nlink == 0) continue;
    if (cause == 0 && is_private(status)) return fd;
    // A new journal that cannot be used is removed, because nobody else knows that it is nothing. Some
    // filesystems (exFAT) change a new file's mode.
    if (is_new) (void)remove_own(directory, name);
    return none(cause != 0 ? cause : EPERM);
  }
  return none(EEXIST);
}

// A part to continue, or a new one.
struct Found {
  io::Fd fd;
  bool old = false;
};

Found open_part(int directory, const std::string& name, Journal& journal, const PartWish& wish) {
  struct stat status {};
  io::Fd fd = open_beneath(directory, name, kOpenOld);
  if (fd) {
    if (::fstat(fd.get(), &status) != 0) return {};
    // A run that was killed just before the part got its name may have set its owner already.
    const bool ours =
        is_own_file(status) || (S_ISREG(status.st_mode) && journal.part_inode() == status.st_ino);
    if (!ours) return {none(EPERM)};
    if (wish.resume && is_sound(status) && journal.load(wish.source, status.st_ino, wish.doubt) &&
        ::fchmod(fd.get(), kMode) == 0) {
      return {std::move(fd), true};
    }
    if (remove_own(directory, name) != 0) return {};
  } else if (errno != ENOENT) {
    return {};
  }
  fd = open_beneath(directory, name, kOpenNew, kMode);
  if (!fd) return {};
  const bool usable =
      ::fstat(fd.get(), &status) == 0 && is_private(status) && journal.start(wish.source, status.st_ino);
  if (usable) return {std::move(fd), false};
  (void)remove_own(directory, name);  // if this fails, the next run of this file replaces it
  return {};
}

}  // namespace

std::optional<PartFile> PartFile::open(int directory, std::string_view name, const PartWish& wish) {
  PartNames names(name);
  io::Fd journal_fd = open_journal(directory, names.journal, wish);
  if (!journal_fd) return std::nullopt;
  const auto stamp = wish.stamp_of(journal_fd.get());
  auto journal = std::make_unique<Journal>(std::move(journal_fd), name, stamp);
  Found found = open_part(directory, names.part, *journal, wish);
  io::Fd held(found.fd ? ::fcntl(directory, F_DUPFD_CLOEXEC, 0) : -1);
  io::Fd held_too(held ? ::fcntl(directory, F_DUPFD_CLOEXEC, 0) : -1);
  if (!held_too) {
    const int cause = errno;
    if (!found.old) (void)remove_own(directory, names.journal);
    errno = cause;
    return std::nullopt;
  }
  UnnamedFile file = UnnamedFile::under_name(std::move(found.fd), std::move(held_too), names.part, kMode);
  return PartFile(std::move(held), std::move(names), std::move(file), std::move(journal));
}

io::Result<void> PartFile::forget(int directory, std::string_view name) {
  const PartNames names(name);
  const io::Fd journal = open_own(directory, names.journal);
  if (!journal) return {};
  if (!remove_part_of(directory, names.journal)) return io::errno_error("remove", names.part);
  return removed(directory, names.journal);
}

io::Result<void> PartFile::forget_journal() {
  return removed(directory_.get(), names_.journal);
}

io::Result<void> PartFile::drop() {
  auto dropped = removed(directory_.get(), names_.part);
  return dropped ? forget_journal() : dropped;
}

io::Fd open_own(int directory, const std::string& name, bool* unlocked) {
  io::Fd fd = open_beneath(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return none(errno);
  if (!is_own_file(status) || status.st_nlink != 1) return none(EPERM);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (unlocked == nullptr || !lacks_locks(errno)) return none(errno);
  *unlocked = true;
  return fd;
}

std::string final_name_in(int journal) {
  return Journal(io::Fd(::fcntl(journal, F_DUPFD_CLOEXEC, 0)), {}).name_in_header();
}

bool remove_part_of(int directory, const std::string& journal) {
  const std::string part = part_of_journal(journal);
  const Journal beside(open_beneath(directory, journal, O_RDONLY | O_NOFOLLOW | O_NONBLOCK), {});
  struct stat status {};
  if (::fstatat(directory, part.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  const bool ours = is_own_file(status) || (S_ISREG(status.st_mode) && beside.part_inode() == status.st_ino);
  return !ours || remove_own(directory, part) == 0;
}

}  // namespace rdcp::tree
