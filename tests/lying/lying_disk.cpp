#include "tests/lying/lying_disk.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rdcp::lying {

using Kind = Operation::Kind;

// The name as the directory has it.
std::optional<std::string> LyingDisk::spelling(const Place& place) const {
  const Inode* directory = disk_.find(place.directory);
  if (directory == nullptr) return std::nullopt;
  const Names& names = directory->now.names;
  if (names.contains(place.name)) return place.name;
  if (!lies_.folds_case) return std::nullopt;
  const std::string wanted = folded(lies_, place.name);
  const auto found =
      std::ranges::find_if(names, [&](const auto& entry) { return folded(lies_, entry.first) == wanted; });
  return found == names.end() ? std::nullopt : std::optional(found->first);
}

int LyingDisk::look_up(const Place& place, Inumber& found) const {
  const auto name = spelling(place);
  if (!name) return ENOENT;
  found = disk_.look_up(place.directory, *name);
  return 0;
}

int LyingDisk::status(Inumber number, struct stat& status) const {
  const Inode* inode = disk_.find(number);
  if (inode == nullptr) return ESTALE;
  const Attributes& attributes = inode->now.attributes;
  status = {};
  status.st_ino = number;
  status.st_mode = attributes.mode;
  status.st_nlink = inode->links;
  status.st_uid = attributes.uid;
  status.st_gid = attributes.gid;
  status.st_rdev = attributes.device;
  status.st_size = static_cast<off_t>(inode->now.content.size);
  status.st_blksize = kBlockBytes;
  status.st_blocks = static_cast<blkcnt_t>(inode->now.content.blocks.size() * (kBlockBytes / 512));
  status.st_atim = attributes.atime;
  status.st_mtim = attributes.mtime;
  status.st_ctim = attributes.ctime;
  return 0;
}

int LyingDisk::change(Inumber number, const Changes& changes) {
  const Inode* inode = disk_.find(number);
  if (inode == nullptr) return ESTALE;
  if (changes.size) {
    Operation truncate = about(Kind::truncate, number);
    truncate.length = *changes.size;
    apply(std::move(truncate));
  }
  Operation operation = about(Kind::set_attributes, number);
  Attributes& attributes = operation.attributes;
  attributes = inode->now.attributes;
  if (changes.mode) attributes.mode = (attributes.mode & S_IFMT) | (*changes.mode & 07777);
  if (changes.uid) attributes.uid = *changes.uid;
  if (changes.gid) attributes.gid = *changes.gid;
  if (changes.atime) attributes.atime = rounded(lies_, *changes.atime);
  if (changes.mtime) attributes.mtime = rounded(lies_, *changes.mtime);
  const bool any = changes.mode || changes.uid || changes.gid || changes.atime || changes.mtime;
  if (any) apply(std::move(operation));
  return 0;
}

int LyingDisk::make(const Place& place, const Attributes& attributes, const std::string& target,
                    Inumber& made) {
  const Inode* parent = disk_.find(place.directory);
  if (parent == nullptr) return ESTALE;
  if (place.name.empty() && lies_.tmpfile != 0) return lies_.tmpfile;
  if (!place.name.empty() && spelling(place)) return EEXIST;
  Operation operation = about(Kind::make, 0);
  operation.parent = place.directory;
  operation.name = place.name;
  operation.data = target;
  operation.attributes = attributes;
  if ((parent->now.attributes.mode & S_ISGID) != 0) {
    operation.attributes.gid = parent->now.attributes.gid;
    if (S_ISDIR(attributes.mode)) operation.attributes.mode |= S_ISGID;
  }
  if (recording_) operations_.push_back(operation);
  disk_.apply(operation);
  made = operation.inode;
  return 0;
}

int LyingDisk::link(Inumber number, const Place& place) {
  if (disk_.find(number) == nullptr) return ESTALE;
  if (spelling(place)) return EEXIST;
  Operation operation = about(Kind::link, number);
  operation.parent = place.directory;
  operation.name = place.name;
  apply(std::move(operation));
  return 0;
}

int LyingDisk::unlink(const Place& place) {
  const auto name = spelling(place);
  if (!name) return ENOENT;
  Operation operation = about(Kind::unlink, 0);
  operation.parent = place.directory;
  operation.name = *name;
  apply(std::move(operation));
  return 0;
}

bool LyingDisk::is_empty(Inumber directory) const {
  return disk_.find(directory)->now.names.empty();
}

int LyingDisk::remove_directory(const Place& place) {
  const auto name = spelling(place);
  if (!name) return ENOENT;
  if (!is_empty(disk_.look_up(place.directory, *name))) return ENOTEMPTY;
  return unlink({place.directory, *name});
}

// Where a name is taken in another spelling, that spelling stays, unless a name only changes its own.
int LyingDisk::rename(const Place& from, const Place& to, unsigned flags) {
  const auto old_name = spelling(from);
  if (!old_name) return ENOENT;
  const auto taken = spelling(to);
  if ((flags & RENAME_NOREPLACE) != 0 && taken) return EEXIST;
  if ((flags & RENAME_EXCHANGE) != 0 && !taken) return ENOENT;
  const Inumber moved = disk_.look_up(from.directory, *old_name);
  const Inumber there = taken ? disk_.look_up(to.directory, *taken) : 0;
  if (there != 0 && S_ISDIR(disk_.find(there)->now.attributes.mode) && !is_empty(there) && flags == 0) {
    return ENOTEMPTY;
  }
  const bool respells = there == moved && from.directory == to.directory && *old_name == *taken;
  if (there == moved && !respells) return 0;
  const std::string new_name = respells || !taken ? to.name : *taken;
  if (respells && new_name == *old_name) return 0;
  Operation operation = about((flags & RENAME_EXCHANGE) != 0 ? Kind::exchange : Kind::rename, 0);
  operation.parent = from.directory;
  operation.name = *old_name;
  operation.other_parent = to.directory;
  operation.other_name = new_name;
  apply(std::move(operation));
  return 0;
}

Handle LyingDisk::open(Inumber number, int flags) {
  handles_[++last_handle_] = {.inode = number};
  most_handles_ = std::max(most_handles_, handles_.size());
  if ((flags & O_TRUNC) != 0) (void)change(number, {.size = 0});
  return last_handle_;
}

void LyingDisk::release(Handle handle) {
  handles_.erase(handle);
}

int LyingDisk::use(Handle handle) {
  const auto found = handles_.find(handle);
  if (found == handles_.end() || found->second.stale) return ESTALE;
  const std::uint64_t calls = ++found->second.calls;
  if (lies_.stale_every == 0 || calls <= lies_.stale_after) return 0;
  return (calls - lies_.stale_after) % lies_.stale_every == 0 ? ESTALE : 0;
}

int LyingDisk::write(Handle handle, std::string_view data, std::uint64_t offset) {
  if (const int code = use(handle); code != 0) return code;
  Opened& opened = handles_.at(handle);
  Operation operation = about(Kind::write, opened.inode);
  operation.offset = offset;
  operation.data = data;
  const std::uint64_t room = lies_.close_bytes - std::min(lies_.close_bytes, written_);
  if (lies_.close_error != 0) written_ += data.size();
  if (lies_.close_error != 0 && room < data.size()) {
    opened.lost_bytes = true;
    operation.data.resize(room);
    const Inode& inode = *disk_.find(opened.inode);
    if (inode.now.content.size < offset + data.size()) {  // nobody sees it by the size either
      (void)change(opened.inode, {.size = offset + data.size()});
    }
  }
  apply(std::move(operation));
  return 0;
}

int LyingDisk::allocate(Handle handle, int mode, std::uint64_t offset, std::uint64_t length) {
  if (const int code = use(handle); code != 0) return code;
  const Inumber number = handles_.at(handle).inode;
  const std::uint64_t size = disk_.find(number)->now.content.size;
  Operation operation = about(Kind::allocate, number);
  operation.offset = offset;
  operation.length = length;
  if ((mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE)) != 0) return EOPNOTSUPP;
  if ((mode & FALLOC_FL_KEEP_SIZE) != 0) operation.length = std::min(length, size - std::min(size, offset));
  if ((mode & FALLOC_FL_PUNCH_HOLE) != 0) operation.kind = Kind::punch;
  apply(std::move(operation));
  return 0;
}

int LyingDisk::seek(Handle handle, std::uint64_t offset, int whence, std::uint64_t& found) const {
  const auto opened = handles_.find(handle);
  if (opened == handles_.end()) return ESTALE;
  const Content& content = disk_.find(opened->second.inode)->now.content;
  if (offset >= content.size) return ENXIO;
  std::uint64_t index = offset / kBlockBytes;
  if (whence == SEEK_DATA) {
    const auto next = content.blocks.lower_bound(index);
    if (next == content.blocks.end() || next->first * kBlockBytes >= content.size) return ENXIO;
    index = next->first;
  } else {
    while (content.blocks.contains(index)) ++index;
  }
  found = std::min(std::max(offset, index * kBlockBytes), content.size);
  return 0;
}

int LyingDisk::tell_loss(Opened& opened) const {
  return std::exchange(opened.lost_bytes, false) ? lies_.close_error : 0;
}

int LyingDisk::flush(Handle handle) {
  if (const int code = use(handle); code != 0) return code;
  return tell_loss(handles_.at(handle));
}

int LyingDisk::sync(Handle handle, bool data_only) {
  if (const int code = use(handle); code != 0) return code;
  apply(about(data_only ? Kind::sync_data : Kind::sync_file, handles_.at(handle).inode));
  return tell_loss(handles_.at(handle));
}

int LyingDisk::sync_directory(Inumber number) {
  if (disk_.find(number) == nullptr) return ESTALE;
  apply(about(Kind::sync_directory, number));
  return 0;
}

int LyingDisk::set_xattr(Inumber number, const std::string& name, std::string_view value, int flags) {
  if (lies_.xattrs != 0) return lies_.xattrs;
  const Inode* inode = disk_.find(number);
  if (inode == nullptr) return ESTALE;
  if (name.starts_with("system.")) return EOPNOTSUPP;
  const bool has = inode->now.xattrs.contains(name);
  if (has && flags == XATTR_CREATE) return EEXIST;
  if (!has && flags == XATTR_REPLACE) return ENODATA;
  Operation operation = about(Kind::set_xattr, number);
  operation.name = name;
  operation.data = value;
  apply(std::move(operation));
  return 0;
}

int LyingDisk::get_xattr(Inumber number, const std::string& name, std::string& value) const {
  if (lies_.xattrs != 0 || name.starts_with("system.")) return EOPNOTSUPP;
  const Inode* inode = disk_.find(number);
  if (inode == nullptr) return ESTALE;
  const auto found = inode->now.xattrs.find(name);
  if (found == inode->now.xattrs.end()) return ENODATA;
  value = found->second;
  return 0;
}

int LyingDisk::list_xattrs(Inumber number, std::string& names) const {
  if (lies_.xattrs != 0) return lies_.xattrs;
  const Inode* inode = disk_.find(number);
  if (inode == nullptr) return ESTALE;
  for (const auto& [name, value] : inode->now.xattrs) names.append(name).push_back('\0');
  return 0;
}

int LyingDisk::remove_xattr(Inumber number, const std::string& name) {
  std::string value;
  if (const int code = get_xattr(number, name, value); code != 0) return code;
  Operation operation = about(Kind::remove_xattr, number);
  operation.name = name;
  apply(std::move(operation));
  return 0;
}

void LyingDisk::restart() {
  for (auto& [handle, opened] : handles_) opened.stale = true;
}

void LyingDisk::record() {
  sync_all();
  recorded_from_ = disk_;
  operations_.clear();
  recording_ = true;
}

std::size_t LyingDisk::recorded_until_removal(std::string_view suffix) const {
  const auto removes = [&](const Operation& operation) {
    return operation.kind == Kind::unlink && operation.name.ends_with(suffix);
  };
  return static_cast<std::size_t>(std::ranges::find_if(operations_, removes) - operations_.begin());
}

Disk LyingDisk::at(std::size_t count) const {
  Disk disk = recorded_from_;
  for (std::size_t i = 0; i < std::min(count, operations_.size()); ++i) {
    Operation operation = operations_[i];
    disk.apply(operation);
  }
  return disk;
}

void LyingDisk::replace(Disk disk) {
  disk_ = std::move(disk);
  handles_.clear();
  recording_ = false;
}

Operation LyingDisk::about(Kind kind, Inumber number) const {
  Operation operation;
  operation.kind = kind;
  operation.inode = number;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  operation.when = rounded(lies_, now);
  return operation;
}

void LyingDisk::apply(Operation operation) {
  disk_.apply(operation);
  if (recording_) operations_.push_back(std::move(operation));
}

}  // namespace rdcp::lying
