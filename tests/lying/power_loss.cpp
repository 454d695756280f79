#include "tests/lying/power_loss.h"

#include <sys/stat.h>

#include <algorithm>
#include <span>
#include <utility>

namespace rdcp::lying {
namespace {

// How many changes of each name of a directory come through, from the oldest on.
using Counts = std::map<std::string, std::size_t>;

Names replay(const Inode& directory, const Counts& counts) {
  Names names = directory.durable.names;
  Counts seen;
  for (const NameChange& change : directory.pending_names) {
    if (++seen[change.name] > counts.at(change.name)) continue;
    if (change.target != 0) {
      names[change.name] = change.target;
    } else {
      names.erase(change.name);
    }
  }
  return names;
}

// One end of a rename: the directory, and which change of which of its names it is.
struct End {
  Inumber directory = 0;
  std::string name;
  std::size_t number = 0;
};
using Rename = std::vector<End>;

std::map<std::uint64_t, Rename> renames_of(const Disk& disk) {
  std::map<std::uint64_t, Rename> renames;
  for (const auto& [number, inode] : disk.inodes()) {
    Counts seen;
    for (const NameChange& change : inode.pending_names) {
      const std::size_t count = ++seen[change.name];
      if (change.group != 0) renames[change.group].push_back({number, change.name, count});
    }
  }
  return renames;
}

// If one end comes through, so does the other. Returns whether that changed anything.
bool complete(const Rename& rename, std::map<Inumber, Counts>& counts) {
  const auto has = [&](const End& end) { return counts[end.directory][end.name] >= end.number; };
  if (std::ranges::none_of(rename, has) || std::ranges::all_of(rename, has)) return false;
  for (const End& end : rename) {
    std::size_t& count = counts[end.directory][end.name];
    count = std::max(count, end.number);
  }
  return true;
}

}  // namespace

PowerLoss::PowerLoss(std::uint64_t seed) : chance_(seed) {
  constexpr std::array kEach{Survival::nothing,   Survival::names_only, Survival::data_only,
                             Survival::unordered, Survival::ordered,    Survival::unordered,
                             Survival::ordered,   Survival::unordered};
  survival_ = kEach[seed % kEach.size()];
}

Content PowerLoss::content_of(const Inode& inode) {
  Content content = inode.durable.content;
  if (!inode.pending_sizes.empty() && survival_ != Survival::nothing && survival_ != Survival::data_only) {
    const auto& sizes = inode.pending_sizes;
    std::uint64_t which = survival_ == Survival::unordered ? below(sizes.size() + 1) : sizes.size();
    if (survival_ == Survival::ordered) {
      which = static_cast<std::uint64_t>(
          std::ranges::count_if(sizes, [&](const auto& size) { return size.first <= until_; }));
    }
    if (which > 0) content.size = sizes[which - 1].second;
  }
  if (keeps_data()) {
    constexpr std::array kLikely{0.0, 0.1, 0.5, 0.9, 1.0};
    const double likely = survival_ == Survival::data_only ? 1 : kLikely[below(kLikely.size())];
    for (const std::uint64_t index : inode.dirty_blocks) {
      if (!coin(likely)) continue;
      const auto block = inode.now.content.blocks.find(index);
      if (block != inode.now.content.blocks.end()) {
        content.blocks[index] = block->second;
      } else {
        content.blocks.erase(index);
      }
    }
  }
  const std::uint64_t end = (content.size + kBlockBytes - 1) / kBlockBytes;
  content.blocks.erase(content.blocks.lower_bound(end), content.blocks.end());
  const auto last = content.blocks.find(content.size / kBlockBytes);
  if (last != content.blocks.end()) {  // what is beyond the end must not be seen when the file grows again
    auto cut = std::make_shared<std::array<char, kBlockBytes>>(*last->second);
    std::ranges::fill(std::span(*cut).subspan(content.size % kBlockBytes), '\0');
    last->second = std::move(cut);
  }
  return content;
}

void PowerLoss::keep_attributes(const Inode& inode, State& state) {
  double likely = survival_ == Survival::names_only ? 1 : survival_ == Survival::unordered ? 0.5 : 0;
  if (survival_ == Survival::ordered && inode.attributes_moment <= until_) likely = 1;
  const Attributes& now = inode.now.attributes;
  if (coin(likely)) {
    state.attributes.mode = now.mode;
    state.attributes.uid = now.uid;
    state.attributes.gid = now.gid;
  }
  if (coin(likely)) {
    state.attributes.atime = now.atime;
    state.attributes.mtime = now.mtime;
  }
  if (coin(likely)) state.xattrs = inode.now.xattrs;
}

// One between the first change that is not durable and the last.
void PowerLoss::choose_moment(const Disk& before) {
  std::uint64_t first = before.moment_;
  for (const auto& [number, inode] : before.inodes()) {
    for (const NameChange& change : inode.pending_names) first = std::min(first, change.moment);
  }
  until_ = before.moment_ - below(before.moment_ - first + 2);
}

std::map<Inumber, Names> PowerLoss::names_of(const Disk& before) {
  std::map<Inumber, Counts> counts;
  for (const auto& [number, inode] : before.inodes()) {
    Counts& mine = counts[number];
    Counts all;
    for (const NameChange& change : inode.pending_names) {
      ++all[change.name];
      mine[change.name] += survival_ == Survival::ordered && change.moment <= until_;
    }
    if (survival_ == Survival::names_only) mine = all;
    if (survival_ == Survival::unordered) {
      for (const auto& [name, count] : all) mine[name] = below(count + 1);
    }
  }
  const auto renames = renames_of(before);
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [group, rename] : renames) changed = complete(rename, counts) || changed;
  }
  std::map<Inumber, Names> names;
  for (const auto& [number, inode] : before.inodes()) names[number] = replay(inode, counts[number]);
  return names;
}

Disk PowerLoss::after(const Disk& before) {
  choose_moment(before);
  const auto names = names_of(before);
  Disk after;
  after.inodes_.clear();
  after.last_ = before.last_;
  std::vector<Inumber> reached{kRoot};
  while (!reached.empty()) {
    const Inumber number = reached.back();
    reached.pop_back();
    const Inode& old = before.inodes_.at(number);
    Inode& inode = after.inodes_[number];
    inode.now = old.durable;
    keep_attributes(old, inode.now);
    inode.link_target = old.link_target;
    inode.now.content = content_of(old);
    inode.parent = number == kRoot ? kRoot : inode.parent;
    inode.links += number == kRoot ? 2 : S_ISDIR(old.now.attributes.mode) ? 1 : 0;
    inode.now.names.clear();
    for (const auto& [name, target] : names.at(number)) {
      const bool is_directory = S_ISDIR(before.inodes_.at(target).now.attributes.mode);
      const bool is_known = after.inodes_.contains(target);
      if (is_directory && is_known) continue;  // as a check of the disk leaves only one name of a directory
      Inode& child = after.inodes_[target];
      child.parent = is_directory ? number : 0;
      ++child.links;
      inode.now.names[name] = target;
      if (!is_known) reached.push_back(target);
    }
  }
  for (auto& [number, inode] : after.inodes_) inode.durable = inode.now;
  return after;
}

}  // namespace rdcp::lying
