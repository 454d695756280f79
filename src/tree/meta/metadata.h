// Reads and sets the metadata of an inode by a held descriptor, never by path.
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
#include "tree/meta/entry.h"
#include "tree/meta/names.h"

namespace rdcp::tree {

// Which metadata is kept (--no-owner, --no-xattrs, --numeric-ids).
struct MetadataPolicy {
  bool owner = true;   // a target that may not set it counts a loss
  bool xattrs = true;  // extended attributes and ACLs
  bool numeric_ids = false;
};

// Kinds of metadata that could not be kept. Each kind becomes one warning with a count, not a line per file.
enum class LossKind : std::uint8_t {
  owner,        // the file could not be given to this owner or group
  set_id_bits,  // setuid/setgid dropped because the owner could not be kept
  xattr,
  acl,
  device_node,  // the node was not made, for lack of privileges
  times,
  kCount
};
constexpr LossKind last_of(LossKind) {
  return LossKind::times;
}
std::string_view describe(LossKind kind);  // "owner or group", "device nodes", ...

// Collects what could not be kept. Metadata that this target cannot keep at all is counted, and each kind has
// its first path and cause as an example. Metadata that it could keep, but for lack of space or a disk error,
// is reported as a failure of that file. Thread-safe.
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
  // Counts a loss or reports a failure, depending on the errno value `cause`. Returns false if it was a
  // failure, which has then been reported.
  bool note(LossKind kind, std::string_view path, int cause);
  std::vector<Item> items() const;  // only kinds with a count

 private:
  const std::function<void(const io::Error&)> failed_;
  mutable std::mutex mutex_;
  std::array<Item, static_cast<std::size_t>(LossKind::kCount)> items_;
};

// How metadata is set: what is kept, how names become ids, and who hears of what could not be kept.
struct MetadataContext {
  MetadataPolicy policy;
  NameTable& names;
  Losses& losses;
};

EntryType type_of(mode_t mode);  // of an st_mode; an unknown type counts as a regular file

// Fills type, mode, ids, names, mtime, size and device from a stat. The caller fills path and link_target.
void fill_from_stat(const struct stat& status, const MetadataPolicy& policy, NameTable& names, Entry& entry);

// Fills xattrs and ACLs; there are none if the policy excludes them or the filesystem has none. Root reads
// user.*, ACLs, trusted.* except trusted.SGI_*, and security.* except security.selinux; other users read
// user.* and ACLs. fd is open on the inode. An O_PATH descriptor (symlinks, nodes) is read through
// /proc/self/fd. An inode without any costs one flistxattr(2).
io::Result<void> read_xattrs(int fd, bool is_path_fd, const MetadataPolicy& policy, NameTable& names,
                             Entry& entry);

// False if read_xattrs() would surely find nothing for this name. `directory` may be an O_PATH descriptor.
// Costs one system call.
bool may_have_xattrs(int directory, const char* name, const MetadataPolicy& policy);
// The same for the inode that fd is open on, which must not be an O_PATH descriptor.
bool may_have_xattrs(int fd, const MetadataPolicy& policy);

// A flag in created_mode below: the inode surely also has our effective ids, no ACL and no xattrs, so there
// is nothing to look up, and a file of ours costs one futimens(2). It is for files in directories for which
// files_are_born_plain() holds.
inline constexpr std::uint32_t kBornPlain = 1u << 16;
// True if a file made in `directory` gets our effective ids, the mode it was made with and no ACL: the
// directory has no default ACL, and `file`, just made in it, has our ids. (It has others beneath a setgid
// directory, on a mount with grpid, and over NFS with root squashing.) The answer holds for all files made
// there, so ask once for each directory.
bool files_are_born_plain(int directory, int file);

// Whether the metadata of what is there, and was not made by us, may be set for an entry of this type. Error:
// the inode that fd is open on is of another type, or has further names, to which they would come, too.
// subject names it in messages.
io::Result<void> may_set_metadata(int fd, EntryType type, std::string_view subject);

// Sets owner, xattrs, mode, ACLs and mtime, in an order in which no step undoes or blocks another: chown
// clears setuid, xattrs need write permission, and the times come last. `created_mode` has the permission
// bits that the inode surely has (it was just created with them and umask 0), or is ~0u if they are unknown
// and must be looked up. The owner is set only if it differs. What cannot be kept goes into losses; only a
// failed stat or a mode that cannot be set is an Error. subject names the file in messages.
io::Result<void> apply_metadata(int fd, const Entry& entry, std::uint32_t created_mode,
                                const MetadataContext& context, std::string_view subject);
// The same for what cannot be opened for reading (symlink, FIFO, socket, node). fd is an O_PATH descriptor:
// owner and mtime are set with AT_EMPTY_PATH, mode and xattrs through /proc/self/fd. Symlinks have no mode.
io::Result<void> apply_metadata_path_fd(int fd, const Entry& entry, const MetadataContext& context,
                                        std::string_view subject);

}  // namespace rdcp::tree
