// The disk beneath the file system that lies: a tree in memory of which every part is known to be durable or
// not.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rdcp::lying {

inline constexpr std::uint64_t kBlockBytes = 4096;
using Block = std::shared_ptr<const std::array<char, kBlockBytes>>;
using Inumber = std::uint64_t;
inline constexpr Inumber kRoot = 1;

// A block that is not there is a hole.
struct Content {
  std::map<std::uint64_t, Block> blocks;
  std::uint64_t size = 0;

  std::string read(std::uint64_t offset, std::uint64_t length) const;
};

struct Attributes {
  mode_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  dev_t device = 0;
  timespec atime{};
  timespec mtime{};
  timespec ctime{};
};

using Names = std::map<std::string, Inumber>;

// What a loss of power leaves of an inode whose changes have all reached the disk.
struct State {
  Attributes attributes;
  std::map<std::string, std::string> xattrs;
  Content content;
  Names names;  // of a directory
};

// A change of one name. What belongs to one rename has the same group, which no other operation has.
struct NameChange {
  std::string name;
  Inumber target = 0;  // 0: the name is removed
  std::uint64_t group = 0;
  std::uint64_t moment = 0;  // grows with each change of the disk
};

struct Inode {
  State now;
  State durable;
  std::string link_target;  // of a symlink; it is on the disk as soon as the inode is
  Inumber parent = 0;       // of a directory
  unsigned links = 0;
  // Changes since `durable`, the oldest first.
  std::vector<NameChange> pending_names;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pending_sizes;  // moment and size
  std::uint64_t attributes_moment = 0;                                 // of their last change
  std::set<std::uint64_t> dirty_blocks;
};

// A change of the disk, or a request that makes some of them durable. A recorded run is a list of these, and
// to apply them to an equal disk gives an equal disk.
struct Operation {
  enum class Kind : std::uint8_t {
    make,            // a new inode; without a name if `name` is empty
    write,           // data at offset
    truncate,        // to `length`
    allocate,        // zeros where there are holes from offset on; the size grows if the end is beyond it
    punch,           // holes from offset on
    set_attributes,  // all of them
    set_xattr,       // `name` to `data`
    remove_xattr,    // `name`
    link,
    unlink,  // also rmdir
    rename,
    exchange,
    sync_file,  // content, attributes and xattrs of an inode
    sync_data,  // content alone
    sync_directory,
    sync_all,
  };
  Kind kind = Kind::make;
  Inumber inode = 0;  // of make: filled in by apply()
  Inumber parent = 0;
  std::string name;
  Inumber other_parent = 0;  // of rename and exchange: where it goes
  std::string other_name{};
  std::string data{};  // of make: a symlink's target
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  Attributes attributes{};  // ctime does not count
  timespec when{};          // the time that it leaves in what it changes
};

// A copy of a disk shares its blocks and is cheap. Not thread-safe.
class Disk {
 public:
  // Has a root alone, which is durable.
  Disk();

  // The operation must fit: what it names is there, and what it makes is not.
  void apply(Operation& operation);

  const Inode* find(Inumber number) const;
  Inode* find(Inumber number);
  // Returns 0 if the directory has no such name.
  Inumber look_up(Inumber directory, const std::string& name) const;
  const std::map<Inumber, Inode>& inodes() const { return inodes_; }

 private:
  friend class PowerLoss;

  void make(Operation& operation);
  void write(const Operation& operation);
  void truncate(const Operation& operation);
  void allocate(const Operation& operation);
  void punch(const Operation& operation);
  void unlink(const Operation& operation);
  void rename(const Operation& operation);
  void exchange(const Operation& operation);
  // Gives the name another target (0: none) and notes the change.
  void set_name(Inumber directory, const std::string& name, Inumber target, std::uint64_t group);
  void touch(Inode& inode, bool modified);
  void set_size(Inode& inode, std::uint64_t size);
  void set_block(Inode& inode, std::uint64_t index, Block block);
  void zero_partly(Inode& inode, std::uint64_t begin, std::uint64_t end);
  static void sync_content(Inode& inode);
  void sync_directory(Inode& directory);
  static void sync_names(Inode& inode);
  static void sync_attributes(Inode& inode);

  std::map<Inumber, Inode> inodes_;
  Inumber last_ = kRoot;
  std::uint64_t groups_ = 0;
  std::uint64_t moment_ = 0;
  timespec when_{};
};

}  // namespace rdcp::lying
