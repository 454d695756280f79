#include "tests/lying/disk.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rdcp::lying {

std::string Content::read(std::uint64_t offset, std::uint64_t length) const {
  if (offset >= size) return {};
  std::string bytes(std::min(length, size - offset), '\0');
  for (std::uint64_t at = 0; at < bytes.size();) {
    const std::uint64_t within = (offset + at) % kBlockBytes;
    const std::uint64_t count = std::min(kBlockBytes - within, bytes.size() - at);
    const auto block = blocks.find((offset + at) / kBlockBytes);
    if (block != blocks.end()) std::memcpy(bytes.data() + at, block->second->data() + within, count);
    at += count;
  }
  return bytes;
}

Disk::Disk() {
  Inode& root = inodes_[kRoot];
  root.now.attributes.mode = S_IFDIR | 0755;
  root.durable = root.now;
  root.parent = kRoot;
  root.links = 2;
}

const Inode* Disk::find(Inumber number) const {
  const auto found = inodes_.find(number);
  return found == inodes_.end() ? nullptr : &found->second;
}

Inode* Disk::find(Inumber number) {
  return const_cast<Inode*>(std::as_const(*this).find(number));
}

Inumber Disk::look_up(Inumber directory, const std::string& name) const {
  const Inode* inode = find(directory);
  if (inode == nullptr) return 0;
  const auto found = inode->now.names.find(name);
  return found == inode->now.names.end() ? 0 : found->second;
}

void Disk::apply(Operation& operation) {
  using Kind = Operation::Kind;
  ++moment_;
  when_ = operation.when;
  switch (operation.kind) {
    case Kind::make:
      return make(operation);
    case Kind::write:
      return write(operation);
    case Kind::truncate:
      return truncate(operation);
    case Kind::allocate:
      return allocate(operation);
    case Kind::punch:
      return punch(operation);
    case Kind::set_attributes:
      inodes_.at(operation.inode).now.attributes = operation.attributes;
      return touch(inodes_.at(operation.inode), false);
    case Kind::set_xattr:
      inodes_.at(operation.inode).now.xattrs[operation.name] = operation.data;
      return touch(inodes_.at(operation.inode), false);
    case Kind::remove_xattr:
      inodes_.at(operation.inode).now.xattrs.erase(operation.name);
      return touch(inodes_.at(operation.inode), false);
    case Kind::link:
      ++inodes_.at(operation.inode).links;
      touch(inodes_.at(operation.inode), false);
      return set_name(operation.parent, operation.name, operation.inode, 0);
    case Kind::unlink:
      return unlink(operation);
    case Kind::rename:
      return rename(operation);
    case Kind::exchange:
      return exchange(operation);
    case Kind::sync_file:
      sync_attributes(inodes_.at(operation.inode));
      [[fallthrough]];
    case Kind::sync_data:
      return sync_content(inodes_.at(operation.inode));
    case Kind::sync_directory:
      return sync_directory(inodes_.at(operation.inode));
    case Kind::sync_all:
      for (auto& [number, inode] : inodes_) {
        sync_attributes(inode);
        sync_content(inode);
        sync_names(inode);
      }
  }
}

// An inode that is on the disk at all has at least what it was made with.
void Disk::make(Operation& operation) {
  operation.inode = ++last_;
  Inode& inode = inodes_[operation.inode];
  inode.now.attributes = operation.attributes;
  inode.now.attributes.atime = operation.when;
  touch(inode, true);
  inode.link_target = operation.data;
  inode.now.content.size = operation.data.size();
  inode.durable = inode.now;
  const bool is_directory = S_ISDIR(operation.attributes.mode);
  inode.parent = is_directory ? operation.parent : 0;
  if (operation.name.empty()) return;
  inode.links = is_directory ? 2 : 1;
  set_name(operation.parent, operation.name, operation.inode, 0);
}

void Disk::write(const Operation& operation) {
  Inode& inode = inodes_.at(operation.inode);
  touch(inode, true);
  const std::string& data = operation.data;
  for (std::uint64_t at = 0; at < data.size();) {
    const std::uint64_t index = (operation.offset + at) / kBlockBytes;
    const std::uint64_t within = (operation.offset + at) % kBlockBytes;
    const std::uint64_t count = std::min(kBlockBytes - within, data.size() - at);
    auto block = std::make_shared<std::array<char, kBlockBytes>>();
    const auto old = inode.now.content.blocks.find(index);
    if (old != inode.now.content.blocks.end()) *block = *old->second;
    std::memcpy(block->data() + within, data.data() + at, count);
    set_block(inode, index, std::move(block));
    at += count;
  }
  set_size(inode, std::max(inode.now.content.size, operation.offset + data.size()));
}

void Disk::truncate(const Operation& operation) {
  Inode& inode = inodes_.at(operation.inode);
  touch(inode, true);
  Content& content = inode.now.content;
  if (operation.length < content.size) {
    zero_partly(inode, operation.length, content.size);
    const std::uint64_t first = (operation.length + kBlockBytes - 1) / kBlockBytes;
    std::vector<std::uint64_t> gone;
    for (auto at = content.blocks.lower_bound(first); at != content.blocks.end(); ++at)
      gone.push_back(at->first);
    for (const std::uint64_t index : gone) set_block(inode, index, nullptr);
  }
  set_size(inode, operation.length);
}

void Disk::allocate(const Operation& operation) {
  Inode& inode = inodes_.at(operation.inode);
  touch(inode, true);
  static const Block zeros = std::make_shared<std::array<char, kBlockBytes>>();
  const std::uint64_t end = operation.offset + operation.length;
  for (std::uint64_t index = operation.offset / kBlockBytes; index * kBlockBytes < end; ++index) {
    if (!inode.now.content.blocks.contains(index)) set_block(inode, index, zeros);
  }
  set_size(inode, std::max(inode.now.content.size, end));
}

void Disk::punch(const Operation& operation) {
  Inode& inode = inodes_.at(operation.inode);
  touch(inode, true);
  const std::uint64_t end = operation.offset + operation.length;
  zero_partly(inode, operation.offset, end);
  const std::uint64_t first = (operation.offset + kBlockBytes - 1) / kBlockBytes;
  for (std::uint64_t index = first; (index + 1) * kBlockBytes <= end; ++index) {
    if (inode.now.content.blocks.contains(index)) set_block(inode, index, nullptr);
  }
}

// The parts of the first and the last block that are within, if these blocks are there.
void Disk::zero_partly(Inode& inode, std::uint64_t begin, std::uint64_t end) {
  if (end <= begin) return;
  for (const std::uint64_t index : std::set{begin / kBlockBytes, (end - 1) / kBlockBytes}) {
    const auto old = inode.now.content.blocks.find(index);
    if (old == inode.now.content.blocks.end()) continue;
    const std::uint64_t from = std::max(begin, index * kBlockBytes) - index * kBlockBytes;
    const std::uint64_t to = std::min(end, (index + 1) * kBlockBytes) - index * kBlockBytes;
    auto block = std::make_shared<std::array<char, kBlockBytes>>(*old->second);
    std::memset(block->data() + from, 0, to - from);
    set_block(inode, index, std::move(block));
  }
}

void Disk::unlink(const Operation& operation) {
  Inode& inode = inodes_.at(look_up(operation.parent, operation.name));
  inode.links = S_ISDIR(inode.now.attributes.mode) ? 0 : inode.links - 1;
  set_name(operation.parent, operation.name, 0, 0);
}

// What has the new name loses it. Where both names are of the same inode, one of them is removed; a file
// system that folds case asks for this when it changes a spelling.
void Disk::rename(const Operation& operation) {
  const Inumber moved = look_up(operation.parent, operation.name);
  const Inumber replaced = look_up(operation.other_parent, operation.other_name);
  if (replaced != 0 && replaced != moved) {
    Operation removal;
    removal.parent = operation.other_parent;
    removal.name = operation.other_name;
    unlink(removal);
    inodes_.at(operation.other_parent).pending_names.pop_back();  // it is no step of its own
  }
  const std::uint64_t group = ++groups_;
  set_name(operation.other_parent, operation.other_name, moved, group);
  set_name(operation.parent, operation.name, 0, group);
  Inode& inode = inodes_.at(moved);
  if (inode.parent != 0) inode.parent = operation.other_parent;
}

void Disk::exchange(const Operation& operation) {
  const Inumber one = look_up(operation.parent, operation.name);
  const Inumber other = look_up(operation.other_parent, operation.other_name);
  const std::uint64_t group = ++groups_;
  set_name(operation.parent, operation.name, other, group);
  set_name(operation.other_parent, operation.other_name, one, group);
  if (Inode& inode = inodes_.at(one); inode.parent != 0) inode.parent = operation.other_parent;
  if (Inode& inode = inodes_.at(other); inode.parent != 0) inode.parent = operation.parent;
}

void Disk::set_name(Inumber directory, const std::string& name, Inumber target, std::uint64_t group) {
  Inode& inode = inodes_.at(directory);
  if (target != 0) {
    inode.now.names[name] = target;
  } else {
    inode.now.names.erase(name);
  }
  inode.pending_names.push_back({name, target, group, moment_});
  touch(inode, true);
}

void Disk::touch(Inode& inode, bool modified) {
  inode.now.attributes.ctime = when_;
  inode.attributes_moment = moment_;
  if (modified) inode.now.attributes.mtime = when_;
}

void Disk::set_size(Inode& inode, std::uint64_t size) {
  if (size == inode.now.content.size) return;
  inode.now.content.size = size;
  inode.pending_sizes.emplace_back(moment_, size);
}

void Disk::set_block(Inode& inode, std::uint64_t index, Block block) {
  if (block) {
    inode.now.content.blocks[index] = std::move(block);
  } else {
    inode.now.content.blocks.erase(index);
  }
  inode.dirty_blocks.insert(index);
}

void Disk::sync_content(Inode& inode) {
  for (const std::uint64_t index : inode.dirty_blocks) {
    const auto block = inode.now.content.blocks.find(index);
    if (block != inode.now.content.blocks.end()) {
      inode.durable.content.blocks[index] = block->second;
    } else {
      inode.durable.content.blocks.erase(index);
    }
  }
  inode.durable.content.size = inode.now.content.size;
  inode.dirty_blocks.clear();
  inode.pending_sizes.clear();
}

void Disk::sync_names(Inode& inode) {
  inode.durable.names = inode.now.names;
  inode.pending_names.clear();
}

// Nobody can flush a symlink or a FIFO, so it goes with its names.
void Disk::sync_directory(Inode& directory) {
  sync_attributes(directory);
  sync_names(directory);
  for (const auto& [name, target] : directory.now.names) {
    Inode& inode = inodes_.at(target);
    const mode_t type = inode.now.attributes.mode & S_IFMT;
    if (type != S_IFREG && type != S_IFDIR) sync_attributes(inode);
  }
}

void Disk::sync_attributes(Inode& inode) {
  inode.durable.attributes = inode.now.attributes;
  inode.durable.xattrs = inode.now.xattrs;
}

}  // namespace rdcp::lying
