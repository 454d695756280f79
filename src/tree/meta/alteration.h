// How the user wants metadata to differ at the target from what they are at the source (--chmod,
// --chown).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "io/range.h"
#include "tree/meta/entry.h"

namespace rdcp::tree {

// One change of permission bits, as one part of chmod(1)'s words asks for it. Bits are those of 07777.
struct ModeChange {
  enum class Kind : std::uint8_t { any, directories, others };  // symbolic links have no mode of their own
  enum class From : std::uint8_t { nobody, user, group, other };
  using Bits = io::Within<std::uint32_t, 0, 07777>;

  Kind kind = Kind::any;         // what it is for
  Bits keeps = 07777;            // all other bits are cleared first
  Bits sets = 0;                 // these are set then
  bool guards_x = false;         // 'X': execute bits are set only for a directory, or where there was one
  From copies = From::nobody;    // 'g=u': whose bits, as they were, are set or cleared, too
  Bits copies_to = 0;            // those of the copied bits that count
  bool copies_to_clear = false;  // true: they are cleared
  auto fields() { return std::tie(kind, keeps, sets, guards_x, copies, copies_to, copies_to_clear); }
  bool operator==(const ModeChange&) const = default;

  // Returns the mode of an entry of this type that had `mode`.
  std::uint32_t changed(std::uint32_t mode, EntryType type) const;
};
constexpr ModeChange::Kind last_of(ModeChange::Kind) {
  return ModeChange::Kind::others;
}
constexpr ModeChange::From last_of(ModeChange::From) {
  return ModeChange::From::other;
}

// A copy has at most so many changes of modes, and a peer is held to this, too.
inline constexpr std::size_t kModeChangesMax = 100;

// Whom all entries are given to: a user or a group.
struct NewOwner {
  static constexpr std::size_t kNameBytesMax = 256;

  bool given = false;
  std::string name;          // as the target's host knows it; empty: it has the number instead
  std::uint32_t number = 0;  // with a name, it counts only where the look-up of an entry's name fails
  auto fields() { return std::tie(given, name, number); }
  bool operator==(const NewOwner&) const = default;
};

struct Alteration {
  std::vector<ModeChange> modes;  // one after the other
  NewOwner user;
  NewOwner group;
  auto fields() { return std::tuple_cat(std::tie(modes), user.fields(), group.fields()); }

  bool any() const { return !modes.empty() || user.given || group.given; }
  // True if the target's host must know a name.
  bool names_somebody() const { return !user.name.empty() || !group.name.empty(); }
  // Changes an entry that is filled from a stat.
  void alter(Entry& entry) const;
  // Brings an entry's access ACL, which has just been read, into line with its changed mode, as chmod(2) does
  // (acl(5)).
  void alter_acl(Entry& entry) const;
};

}  // namespace rdcp::tree
