#include "tree/meta/alteration.h"

#include <algorithm>

namespace rdcp::tree {
namespace {

constexpr std::uint32_t kExecute = 0111;

// Returns the three bits of one of user, group and other, for all three.
std::uint32_t spread(std::uint32_t mode, ModeChange::From from) {
  using From = ModeChange::From;
  const unsigned shift = from == From::user ? 6 : from == From::group ? 3 : 0;
  return from == From::nobody ? 0 : ((mode >> shift) & 7) * kExecute;
}

}  // namespace

std::uint32_t ModeChange::changed(std::uint32_t mode, EntryType type) const {
  const bool directory = type == EntryType::directory;
  if (type == EntryType::symlink || (kind != Kind::any && (kind == Kind::directories) != directory)) {
    return mode;
  }
  const std::uint32_t copied = spread(mode, copies) & copies_to;
  const std::uint32_t cleared = (mode & keeps) & ~(copies_to_clear ? copied : 0);
  return cleared | sets | (copies_to_clear ? 0 : copied);
}

void Alteration::alter(Entry& entry) const {
  const bool executable = (entry.mode & kExecute) != 0 || entry.type == EntryType::directory;
  for (ModeChange change : modes) {
    if (change.guards_x && !executable) change.sets = change.sets & ~kExecute;
    entry.mode = change.changed(entry.mode, entry.type);
  }
  if (user.given) {
    entry.uid = user.number;
    entry.user = user.name;
  }
  if (group.given) {
    entry.gid = group.number;
    entry.group = group.name;
  }
}

void Alteration::alter_acl(Entry& entry) const {
  if (modes.empty() || entry.access_acl.empty()) return;
  using Tag = AclLine::Tag;
  const bool has_mask =
      std::ranges::any_of(entry.access_acl, [](const AclLine& line) { return line.tag == Tag::mask; });
  for (AclLine& line : entry.access_acl) {
    if (line.tag == Tag::user_obj) line.permissions = (entry.mode >> 6) & 7;
    if (line.tag == (has_mask ? Tag::mask : Tag::group_obj)) line.permissions = (entry.mode >> 3) & 7;
    if (line.tag == Tag::other) line.permissions = entry.mode & 7;
  }
}

}  // namespace rdcp::tree
