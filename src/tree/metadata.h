// Metadata of an inode, read from and set on a held descriptor, never by path.
#pragma once

#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/result.h"
#include "tree/entry.h"
#include "tree/names.h"

namespace rdcp::tree {

// What of the metadata is kept (--no-owner, --no-xattrs, --numeric-ids).
struct MetadataPolicy {
  bool owner = true;   // at the target: only when we may change owners (root, CAP_CHOWN)
  bool xattrs = true;  // extended attributes and ACLs
  bool numeric_ids = false;
};

// Kinds of metadata that could not be kept; each is one warning with a count, not a line per file.
enum class LossKind : std::uint8_t {
  owner,        // neither name nor number could be given to the file
  set_id_bits,  // setuid/setgid dropped because the owner could not be kept
  xattr,
  acl,
  device_node,  // not root: the node was not made
  times,
  kCount
};
constexpr LossKind last_of(LossKind) {
  return LossKind::times;
}
std::string_view describe(LossKind kind);  // "owner or group", "device nodes", ...

// What of the metadata could not be kept. What cannot be kept at this target is counted, with the first path
// and cause of each kind as an example; what could be, but for want of space or by an error of the disk, is a
// failure of that file. Thread-safe.
class Losses {
 public:
  explicit Losses(std::function<void(const io::Error&)> failed = {}) : failed_(std::move(failed)) {}

  struct Item {
    LossKind kind;
    std::uint64_t count = 0;
    std::string first_path;
    std::string cause;
  };
  void note(LossKind kind, std::string_view path, std::string_view cause);
  // By errno, which tells the one from the other. False: it was a failure, and has been told.
  bool note(LossKind kind, std::string_view path, int cause);
  std::vector<Item> items() const;  // those with a count

 private:
  const std::function<void(const io::Error&)> failed_;
  mutable std::mutex mutex_;
  std::array<Item, static_cast<std::size_t>(LossKind::kCount)> items_;
};

EntryType type_of(mode_t mode);  // of st_mode; a regular file where the type is unknown

// Fills type, mode, ids, names, mtime, size and device from a stat. path and link_target are the caller's.
void fill_from_stat(const struct stat& status, const MetadataPolicy& policy, NameTable& names, Entry& entry);

// Fills xattrs and ACLs (none where policy says so or the filesystem has none). fd is open on the inode; one
// flistxattr call where there are none. Non-root reads user.* and ACLs, root all but system.* and
// security.selinux. For an O_PATH descriptor (symlinks, nodes) it goes through /proc/self/fd.
io::Result<void> read_xattrs(int fd, bool is_path_fd, const MetadataPolicy& policy, NameTable& names,
                             Entry& entry);

// False when what has this name in the directory (O_PATH will do) surely has nothing that read_xattrs() would
// find: one system call where it has none.
bool may_have_xattrs(int directory, const char* name, const MetadataPolicy& policy);
// The same of what fd is open on (no O_PATH).
bool may_have_xattrs(int fd, const MetadataPolicy& policy);

// Or'ed into created_mode below: the inode surely also has our effective ids, no ACL and no xattrs, so there
// is nothing to look at; a file of ours then costs one futimens(2). For those whose directory
// files_are_born_plain().
inline constexpr std::uint32_t kBornPlain = 1u << 16;
// True when a file made in `directory` gets our effective ids, the mode it was made with and no ACL: the
// directory has no default ACL, and `file`, just made in it, shows our ids (not so beneath a setgid
// directory, on a mount with grpid, over NFS with root squashed). The answer holds for all files made there;
// ask once for each directory.
bool files_are_born_plain(int directory, int file);

// Sets owner, xattrs, mode, ACLs and mtime, in the order in which one does not undo another, or stand in its
// way (chown clears setuid; who may not write may not set xattrs; the times come last). `created_mode`: the
// permission bits that the inode surely has already (just created with them and umask 0), or ~0u for unknown:
// then it looks. Owner: fchown only where it differs. What could not be kept goes into losses; only a failure
// that makes the copy wrong (mode) is an Error. subject names the file in messages.
io::Result<void> apply_metadata(int fd, const Entry& entry, std::uint32_t created_mode,
                                const MetadataPolicy& policy, NameTable& names, Losses& losses,
                                std::string_view subject);
// The same for what cannot be opened for reading (symlink, FIFO, socket, node): fd is O_PATH; fchownat
// AT_EMPTY_PATH, chmod and setxattr through /proc/self/fd, utimensat AT_EMPTY_PATH. Symlinks have no mode.
io::Result<void> apply_metadata_path_fd(int fd, const Entry& entry, const MetadataPolicy& policy,
                                        NameTable& names, Losses& losses, std::string_view subject);

}  // namespace rdcp::tree
