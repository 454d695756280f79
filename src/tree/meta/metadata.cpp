#include "tree/meta/metadata.h"

#include <sys/auxv.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "tree/meta/acl.h"
#include "tree/meta/inode.h"
#include "tree/meta/xattrs.h"

namespace rdcp::tree {
namespace {

constexpr std::uint32_t kModeBits = 07777;
constexpr std::uint32_t kSetIdBits = S_ISUID | S_ISGID;

// The ids of a file that this process makes, unless its directory or filesystem says otherwise. They come
// from the auxiliary vector, because geteuid(2) would be one more system call for each file.
uid_t our_uid() {
  return static_cast<uid_t>(::getauxval(AT_EUID));
}
gid_t our_gid() {
  return static_cast<gid_t>(::getauxval(AT_EGID));
}

// True for errors that mean that this filesystem, kernel or user cannot do it at all.
bool cannot_be_done(int cause) {
  constexpr std::array<int, 8> kCauses{EOPNOTSUPP, EPERM, EACCES, ENOSYS, EINVAL, E2BIG, ERANGE, EOVERFLOW};
  return std::ranges::find(kCauses, cause) != kCauses.end();
}

// The metadata that an inode has before apply() changes them.
struct Current {
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

// Sets one inode's metadata, step by step. Each step that fails without making the copy wrong is noted as a
// loss.
class Applier {
 public:
  Applier(Inode inode, const Entry& entry, const MetadataContext& context, std::string_view subject)
      : inode_(inode), entry_(entry), context_(context), subject_(subject) {}

  io::Result<void> apply(std::uint32_t created_mode);

 private:
  bool set_owner(const Current& current);
  bool let_owner_write(Current& current);
  io::Result<void> set_mode(const Current& current, bool owner_kept);
  io::Result<void> narrow_group_bits();
  void set_mtime();
  void check_set_id_bits();
  void note(LossKind kind, std::string_view cause) { context_.losses.note(kind, subject_, cause); }
  void note(LossKind kind, int cause) { context_.losses.note(kind, subject_, cause); }

  const Inode inode_;
  const Entry& entry_;
  const MetadataContext& context_;
  std::string_view subject_;
  std::uint32_t mode_set_ = 0;
};

io::Result<void> Applier::apply(std::uint32_t created_mode) {
  Current current;
  const bool born_plain = created_mode != ~0u && (created_mode & kBornPlain) != 0;
  if (born_plain) {
    current = {created_mode & kModeBits, our_uid(), our_gid()};
  } else {
    struct stat status;
    if (inode_.status(status) != 0) return io::errno_error("stat", subject_);
    current = {status.st_mode & kModeBits, status.st_uid, status.st_gid};
  }

  const bool owner_kept = set_owner(current);
  if (context_.policy.xattrs) {
    const auto let_write = [&] { return let_owner_write(current); };
    if (!born_plain) remove_other_xattrs(inode_, entry_, context_.losses, subject_, let_write);
    set_xattrs(inode_, entry_, context_.losses, subject_, let_write);
  }
  if (entry_.type != EntryType::symlink) {
    if (auto set = set_mode(current, owner_kept); !set) return set;
  }
  if (context_.policy.xattrs && !apply_acls(inode_, entry_, context_, subject_)) {
    if (auto narrowed = narrow_group_bits(); !narrowed) return narrowed;
  }
  if ((mode_set_ & kSetIdBits) != 0) check_set_id_bits();
  set_mtime();
  return {};
}

// Returns true if the inode now has the owner and group that the entry asks for.
bool Applier::set_owner(const Current& current) {
  std::uint32_t uid = entry_.uid;
  std::uint32_t gid = entry_.gid;
  if (!context_.policy.numeric_ids) {
    uid = context_.names.user_id(entry_.user).value_or(uid);
    gid = context_.names.group_id(entry_.group).value_or(gid);
  }
  if (uid == current.uid && gid == current.gid) return true;
  if (!context_.policy.owner) return false;

  if (inode_.set_owner(uid, gid) == 0) return true;
  const int cause = errno;
  // A user may still give a file to another of their own groups (chown(2)).
  if (uid != current.uid && gid != current.gid) (void)inode_.set_owner(static_cast<uid_t>(-1), gid);
  note(LossKind::owner, cause);
  return false;
}

// A user without privileges cannot set xattrs of a file without write permission, not even of their own. This
// grants it until the mode is set. Returns false if that was not the obstacle, or it cannot be granted.
bool Applier::let_owner_write(Current& current) {
  if (entry_.type == EntryType::symlink || (current.mode & S_IWUSR) != 0) return false;
  if (inode_.set_mode(current.mode | S_IWUSR) != 0) return false;
  current.mode |= S_IWUSR;
  return true;
}

// Comes after the owner, because chown(2) clears the set-id bits. They are left out if the owner is another
// one, because they would lend the rights of whoever runs the copy.
io::Result<void> Applier::set_mode(const Current& current, bool owner_kept) {
  mode_set_ = entry_.mode & kModeBits;
  if (!owner_kept && (mode_set_ & kSetIdBits) != 0) {
    mode_set_ &= ~kSetIdBits;
    note(LossKind::set_id_bits, "the owner could not be kept");
  }
  // Set-id bits are always set again, because writing to a file may have cleared them, too.
  const bool surely_there = current.mode == mode_set_ && (mode_set_ & kSetIdBits) == 0;
  if (!surely_there && inode_.set_mode(mode_set_) != 0) return io::errno_error("set mode of", subject_);
  return {};
}

// Without its access ACL, a file would grant its group everything that the ACL's mask allows to anybody.
io::Result<void> Applier::narrow_group_bits() {
  for (const AclLine& line : entry_.access_acl) {
    if (line.tag == AclLine::Tag::group_obj) mode_set_ &= ~0070u | line.permissions << 3;
  }
  if (inode_.set_mode(mode_set_) != 0) return io::errno_error("set mode of", subject_);
  return {};
}

// chmod(2) and setting an ACL drop S_ISGID without an error when the caller is not in the file's group.
void Applier::check_set_id_bits() {
  struct stat status;
  if (inode_.status(status) == 0 && (mode_set_ & kSetIdBits & ~status.st_mode) != 0) {
    note(LossKind::set_id_bits, "the system does not allow them");
  }
}

void Applier::set_mtime() {
  assert(entry_.mtime.nanoseconds < 1'000'000'000);
  if (inode_.set_mtime({entry_.mtime.seconds, entry_.mtime.nanoseconds}) != 0) {
    return note(LossKind::times, errno);
  }
  // A filesystem silently clamps a time that it cannot store (Linux 5.4), but each can store 32 bits of
  // seconds.
  if (entry_.mtime.seconds >= 0 && entry_.mtime.seconds <= INT32_MAX) return;
  struct stat status;
  if (inode_.status(status) == 0 && status.st_mtim.tv_sec != entry_.mtime.seconds) {
    note(LossKind::times, "beyond what the filesystem can store");
  }
}

}  // namespace

std::string_view describe(LossKind kind) {
  switch (kind) {
    case LossKind::owner:
      return "owner or group";
    case LossKind::set_id_bits:
      return "setuid and setgid bits";
    case LossKind::xattr:
      return "extended attributes";
    case LossKind::acl:
      return "access control lists";
    case LossKind::device_node:
      return "device nodes";
    case LossKind::times:
      return "modification times";
    case LossKind::kCount:
      break;
  }
  assert(false);
  return "";
}

bool Losses::note(LossKind kind, std::string_view path, int cause) {
  const bool counts = cannot_be_done(cause) || !failed_;
  if (counts) {
    note(kind, path, std::strerror(cause));
  } else {
    failed_(io::errno_error("keep the " + std::string(describe(kind)) + " of", path, cause));
  }
  return counts;
}

void Losses::note(LossKind kind, std::string_view path, std::string_view cause) {
  const std::lock_guard lock(mutex_);
  Item& item = items_[static_cast<std::size_t>(kind)];
  if (item.count++ > 0) return;
  item.kind = kind;
  item.first_path = path;
  item.cause = cause;
}

std::vector<Losses::Item> Losses::items() const {
  const std::lock_guard lock(mutex_);
  std::vector<Item> counted;
  std::copy_if(items_.begin(), items_.end(), std::back_inserter(counted),
               [](const Item& item) { return item.count > 0; });
  return counted;
}

EntryType type_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return EntryType::directory;
    case S_IFLNK:
      return EntryType::symlink;
    case S_IFIFO:
      return EntryType::fifo;
    case S_IFSOCK:
      return EntryType::socket;
    case S_IFCHR:
      return EntryType::char_device;
    case S_IFBLK:
      return EntryType::block_device;
    default:
      return EntryType::file;
  }
}

void fill_from_stat(const struct stat& status, const MetadataPolicy& policy, NameTable& names, Entry& entry) {
  entry.type = type_of(status.st_mode);
  entry.mode = status.st_mode & kModeBits;
  entry.uid = status.st_uid;
  entry.gid = status.st_gid;
  const bool by_name = policy.owner && !policy.numeric_ids;
  entry.user = by_name ? names.user_name(status.st_uid) : std::string();
  entry.group = by_name ? names.group_name(status.st_gid) : std::string();
  entry.mtime = {status.st_mtim.tv_sec, static_cast<std::uint32_t>(status.st_mtim.tv_nsec)};
  entry.size = entry.type == EntryType::file ? static_cast<std::uint64_t>(status.st_size) : 0;
  const bool is_device = entry.type == EntryType::char_device || entry.type == EntryType::block_device;
  entry.device = is_device ? status.st_rdev : 0;
}

bool files_are_born_plain(int directory, int file) {
  struct stat status;
  if (::fstat(file, &status) != 0 || status.st_uid != our_uid() || status.st_gid != our_gid()) return false;
  return Inode(directory, false).get_xattr(kDefaultAclXattr, nullptr, 0) < 0 &&
         (errno == ENODATA || errno == EOPNOTSUPP);
}

io::Result<void> may_set_metadata(int fd, EntryType type, std::string_view subject) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return io::errno_error("set attributes of", subject);
  if (type_of(status.st_mode) != type) {
    return io::plain_error(io::ErrorKind::file, "set attributes of", subject,
                           "another program replaced it meanwhile");
  }
  if (status.st_nlink <= 1) return {};
  return io::plain_error(io::ErrorKind::file, "set attributes of", subject,
                         "it has other names by now, whose attributes would change with it");
}

io::Result<void> apply_metadata(int fd, const Entry& entry, std::uint32_t created_mode,
                                const MetadataContext& context, std::string_view subject) {
  return Applier(Inode(fd, false), entry, context, subject).apply(created_mode);
}

io::Result<void> apply_metadata_path_fd(int fd, const Entry& entry, const MetadataContext& context,
                                        std::string_view subject) {
  return Applier(Inode(fd, true), entry, context, subject).apply(~0u);
}

}  // namespace rdcp::tree
