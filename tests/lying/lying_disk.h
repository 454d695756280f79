// The file system that lies, without a kernel: its calls by inode number, as FUSE asks for them.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/lying/disk.h"
#include "tests/lying/lies.h"

namespace rdcp::lying {

using Handle = std::uint64_t;

// Which attributes are to change.
struct Changes {
  std::optional<mode_t> mode{};  // permission bits
  std::optional<uid_t> uid{};
  std::optional<gid_t> gid{};
  std::optional<std::uint64_t> size{};
  std::optional<timespec> atime{};
  std::optional<timespec> mtime{};
};

struct Place {
  Inumber directory = 0;
  std::string name;
};

// Every function returns an errno, or 0. It checks what a kernel's VFS leaves to the file system; names and
// permissions have been checked. Not thread-safe.
class LyingDisk {
 public:
  explicit LyingDisk(const Lies& lies) : lies_(lies) {}

  Lies& lies() { return lies_; }
  const Lies& lies() const { return lies_; }
  const Disk& disk() const { return disk_; }

  int look_up(const Place& place, Inumber& found) const;
  int status(Inumber number, struct stat& status) const;
  int change(Inumber number, const Changes& changes);
  // A name that is empty makes a file without one (O_TMPFILE). The mode has its type; a symlink has a target.
  int make(const Place& place, const Attributes& attributes, const std::string& target, Inumber& made);
  int link(Inumber number, const Place& place);
  int unlink(const Place& place);
  int remove_directory(const Place& place);
  int rename(const Place& from, const Place& to, unsigned flags);

  Handle open(Inumber number, int flags);
  void release(Handle handle);
  // Counts a call on the handle, and says whether it is stale.
  int use(Handle handle);
  int write(Handle handle, std::string_view data, std::uint64_t offset);
  int allocate(Handle handle, int mode, std::uint64_t offset, std::uint64_t length);
  int seek(Handle handle, std::uint64_t offset, int whence, std::uint64_t& found) const;
  int flush(Handle handle);
  int sync(Handle handle, bool data_only);
  int sync_directory(Inumber number);
  void sync_all() { apply(about(Operation::Kind::sync_all, 0)); }

  int set_xattr(Inumber number, const std::string& name, std::string_view value, int flags);
  int get_xattr(Inumber number, const std::string& name, std::string& value) const;
  int list_xattrs(Inumber number, std::string& names) const;
  int remove_xattr(Inumber number, const std::string& name);

  // From now on no handle that is open is good for anything, as after a server was started again.
  void restart();
  std::size_t open_handles() const { return handles_.size(); }
  std::size_t most_handles() const { return most_handles_; }

  // From now on operations are recorded; what was there before is durable.
  void record();
  std::size_t recorded() const { return operations_.size(); }
  // How many were before the first one that removed a name with this end.
  std::size_t recorded_until_removal(std::string_view suffix) const;
  // The disk as it was when this many operations had been recorded.
  Disk at(std::size_t count) const;
  // Puts another disk in its place. The recording ends, and stays.
  void replace(Disk disk);

 private:
  struct Opened {
    Inumber inode = 0;
    std::uint64_t calls = 0;
    bool lost_bytes = false;  // and nobody knows
    bool stale = false;
  };

  void apply(Operation operation);
  Operation about(Operation::Kind kind, Inumber number) const;
  std::optional<std::string> spelling(const Place& place) const;
  bool is_empty(Inumber directory) const;
  int tell_loss(Opened& opened) const;

  Lies lies_;
  Disk disk_;
  std::map<Handle, Opened> handles_;
  Handle last_handle_ = 0;
  std::size_t most_handles_ = 0;
  std::uint64_t written_ = 0;
  bool recording_ = false;
  Disk recorded_from_;
  std::vector<Operation> operations_;
};

}  // namespace rdcp::lying
