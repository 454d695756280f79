#include "tree/meta/xattrs.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "tree/meta/acl.h"

namespace rdcp::tree {
namespace {

bool has_prefix(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Which attributes we copy. user.* is copied for everybody; trusted.* and security.* (capabilities) only as
// root, since only root may write them. security.selinux is not copied, because it belongs to the target's
// own policy, nor are views of the filesystem's own state: system.* (system.nfs4_acl) other than the ACLs,
// and trusted.SGI_*, by which XFS shows root how it stores ACLs.
bool is_copied(std::string_view name, bool is_root) {
  if (has_prefix(name, "user.")) return true;
  if (name == "security.selinux" || has_prefix(name, "trusted.SGI_")) return false;
  return is_root && (has_prefix(name, "trusted.") || has_prefix(name, "security."));
}

bool is_root() {
  return ::geteuid() == 0;
}

// Runs a call that fills a buffer and fails with ERANGE while the buffer is too small. Returns -1 with errno
// on other failures.
template <class Call>
ssize_t fill(std::string& buffer, Call call) {
  constexpr std::size_t kUsual = 512;
  buffer.resize(kUsual);
  ssize_t length = call(buffer.data(), buffer.size());
  while (length < 0 && errno == ERANGE && buffer.size() <= XATTR_LIST_MAX) {
    buffer.resize(std::min<std::size_t>(buffer.size() * 8, XATTR_LIST_MAX + 1));
    length = call(buffer.data(), buffer.size());
  }
  if (length >= 0) buffer.resize(static_cast<std::size_t>(length));
  return length;
}

// Returns the names of an inode's xattrs, each with its NUL. The list is empty if the inode has none or its
// filesystem does not support them.
io::Result<std::string> list_names(const Inode& inode, std::string_view subject) {
  std::array<char, 256> first;
  const ssize_t length = inode.list_xattrs(first.data(), first.size());
  if (length >= 0) return std::string(first.data(), static_cast<std::size_t>(length));
  if (errno == EOPNOTSUPP) return std::string();
  std::string names;
  if (errno != ERANGE ||
      fill(names, [&](char* data, std::size_t size) { return inode.list_xattrs(data, size); }) < 0) {
    return io::errno_error("list extended attributes of", subject);
  }
  return names;
}

// Calls use(name) for each name of a list. name.data() is terminated by NUL.
template <class Use>
void for_each_name(std::string_view list, Use use) {
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find('\0'));
    use(name);
    list.remove_prefix(std::min(name.size() + 1, list.size()));
  }
}

// Returns false if the attribute has been removed since it was listed.
io::Result<bool> read_value(const Inode& inode, std::string_view name, std::string& value,
                            std::string_view subject) {
  if (fill(value, [&](char* data, std::size_t size) { return inode.get_xattr(name.data(), data, size); }) >=
      0) {
    return true;
  }
  if (errno == ENODATA) return false;
  return io::errno_error("get extended attribute " + std::string(name) + " of", subject);
}

io::Result<void> read_acl(const Inode& inode, const char* name, std::vector<AclLine>& lines,
                          std::string_view subject) {
  std::string raw;
  const auto there = read_value(inode, name, raw, subject);
  if (!there) return there.error();
  if (!*there) return {};
  auto parsed = parse_acl(raw);
  if (!parsed) {
    return io::plain_error(io::ErrorKind::file, "read the ACL of", subject, "rdcp does not know its format");
  }
  lines = std::move(*parsed);
  return {};
}

// Sets the xattrs and ACLs of an entry, and removes all others.
class XattrApplier {
 public:
  XattrApplier(const Inode& inode, const Entry& entry, Losses& losses, std::string_view subject)
      : inode_(inode), entry_(entry), losses_(losses), subject_(subject) {}

  void remove_others(const std::function<bool()>& let_owner_write);
  void set_xattrs(const std::function<bool()>& let_owner_write);
  bool set_acl(const char* name, std::vector<AclLine> lines, const MetadataPolicy& policy, NameTable& names);

 private:
  bool is_wanted(std::string_view name) const;

  const Inode& inode_;
  const Entry& entry_;
  Losses& losses_;
  std::string_view subject_;
};

bool XattrApplier::is_wanted(std::string_view name) const {
  if (name == kAccessAclXattr) return !entry_.access_acl.empty();
  if (name == kDefaultAclXattr) return !entry_.default_acl.empty();
  return std::any_of(entry_.xattrs.begin(), entry_.xattrs.end(),
                     [name](const Xattr& xattr) { return xattr.name == name; });
}

// Returns true if the call that writes an attribute succeeded; otherwise errno has the cause.
template <class Call>
bool write_attribute(const std::function<bool()>& let_owner_write, Call call) {
  if (call() == 0) return true;
  if (errno != EACCES) return false;
  return let_owner_write() && call() == 0;
}

void XattrApplier::remove_others(const std::function<bool()>& let_owner_write) {
  const auto list = list_names(inode_, subject_);
  if (!list) {
    losses_.note(LossKind::xattr, subject_, list.error().code);
    return;
  }
  const bool root = !list->empty() && is_root();
  for_each_name(*list, [&](std::string_view name) {
    const bool is_acl = name == kAccessAclXattr || name == kDefaultAclXattr;
    if (!(is_acl || is_copied(name, root)) || is_wanted(name)) return;
    const bool removed = write_attribute(let_owner_write, [&] { return inode_.remove_xattr(name.data()); }) ||
                         errno == ENODATA;
    if (!removed) losses_.note(is_acl ? LossKind::acl : LossKind::xattr, subject_, errno);
  });
}

void XattrApplier::set_xattrs(const std::function<bool()>& let_owner_write) {
  for (const Xattr& xattr : entry_.xattrs) {
    if (!is_copied(xattr.name, true)) {
      losses_.note(LossKind::xattr, subject_, "not in a namespace that is copied");
      continue;
    }
    const bool set = write_attribute(let_owner_write, [&] {
      return inode_.set_xattr(xattr.name.c_str(), xattr.value.data(), xattr.value.size());
    });
    if (!set && !losses_.note(LossKind::xattr, subject_, errno)) return;  // reported once for each file
  }
}

bool XattrApplier::set_acl(const char* name, std::vector<AclLine> lines, const MetadataPolicy& policy,
                           NameTable& names) {
  if (lines.empty()) return true;
  if (!policy.numeric_ids) map_ids(lines, names);
  const std::string raw = format_acl(std::move(lines));
  if (inode_.set_xattr(name, raw.data(), raw.size()) == 0) return true;
  losses_.note(LossKind::acl, subject_, errno);
  return false;
}

using XattrNames = std::array<char, 1024>;

// length is the return value of the call that listed the names, with errno set if it is negative.
bool any_is_copied(const XattrNames& list, ssize_t length) {
  if (length < 0) return errno != EOPNOTSUPP;
  bool any = false;
  const bool root = length > 0 && is_root();
  for_each_name(std::string_view(list.data(), static_cast<std::size_t>(length)), [&](std::string_view one) {
    any = any || one == kAccessAclXattr || one == kDefaultAclXattr || is_copied(one, root);
  });
  return any;
}

}  // namespace

io::Result<void> read_xattrs(int fd, bool is_path_fd, const MetadataPolicy& policy, NameTable& names,
                             Entry& entry) {
  entry.xattrs.clear();
  entry.access_acl.clear();
  entry.default_acl.clear();
  if (!policy.xattrs) return {};
  const Inode inode(fd, is_path_fd);
  const auto list = list_names(inode, entry.path);
  if (!list) return list.error();
  if (list->empty()) return {};

  const bool root = is_root();
  io::Result<void> result;
  for_each_name(*list, [&](std::string_view name) {
    if (!result) return;
    if (name == kAccessAclXattr) {
      result = read_acl(inode, kAccessAclXattr, entry.access_acl, entry.path);
    } else if (name == kDefaultAclXattr) {
      result = read_acl(inode, kDefaultAclXattr, entry.default_acl, entry.path);
    } else if (is_copied(name, root)) {
      Xattr xattr{std::string(name), {}};
      const auto there = read_value(inode, name, xattr.value, entry.path);
      if (!there) {
        result = there.error();
      } else if (*there) {
        entry.xattrs.push_back(std::move(xattr));
      }
    }
  });
  if (!policy.numeric_ids) {
    look_up_names(entry.access_acl, names);
    look_up_names(entry.default_acl, names);
  }
  if (is_minimal(entry.access_acl)) entry.access_acl.clear();
  return result;
}

// Uses listxattrat(2) since Linux 6.13. Older kernels go by the directory's name in /proc, which leads to the
// held inode, and the name in it.
bool may_have_xattrs(int directory, const char* name, const MetadataPolicy& policy) {
  constexpr long kListxattrat = 465;
  static std::atomic<bool> has_call{true};
  if (!policy.xattrs) return false;
  XattrNames list;
  ssize_t length = -1;
  if (has_call) {
    length = ::syscall(kListxattrat, directory, name, AT_SYMLINK_NOFOLLOW, list.data(), list.size());
    if (length < 0 && (errno == ENOSYS || errno == EPERM)) has_call = false;
  }
  if (!has_call) {
    const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + name;
    length = ::llistxattr(path.c_str(), list.data(), list.size());
  }
  return any_is_copied(list, length);
}

bool may_have_xattrs(int fd, const MetadataPolicy& policy) {
  if (!policy.xattrs) return false;
  XattrNames list;
  return any_is_copied(list, ::flistxattr(fd, list.data(), list.size()));
}

void remove_other_xattrs(const Inode& inode, const Entry& entry, Losses& losses, std::string_view subject,
                         const std::function<bool()>& let_owner_write) {
  XattrApplier(inode, entry, losses, subject).remove_others(let_owner_write);
}

void set_xattrs(const Inode& inode, const Entry& entry, Losses& losses, std::string_view subject,
                const std::function<bool()>& let_owner_write) {
  XattrApplier(inode, entry, losses, subject).set_xattrs(let_owner_write);
}

bool apply_acls(const Inode& inode, const Entry& entry, const MetadataContext& context,
                std::string_view subject) {
  XattrApplier applier(inode, entry, context.losses, subject);
  if (entry.type == EntryType::directory) {
    (void)applier.set_acl(kDefaultAclXattr, entry.default_acl, context.policy, context.names);
  }
  return applier.set_acl(kAccessAclXattr, entry.access_acl, context.policy, context.names);
}

}  // namespace rdcp::tree
