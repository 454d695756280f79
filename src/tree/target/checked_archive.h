// An archive chunk whose files are read back before they get their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "tree/archive/archive.h"
#include "tree/target/read_back.h"
#include "tree/target/target_tree.h"

namespace rdcp::tree {

// One per slot. It is taken in groups of entries: the contents of a group's files are written, all of them
// are read back at once, then the entries are put in place, in their order.
struct CheckedArchive {
  struct Part {
    Entry entry;
    std::optional<TargetTree::WrittenFile> written;  // of a file
    ReadBackCheck check;
  };
  // names: outlives this.
  explicit CheckedArchive(const AdmittedNames& names) : reader(names) {}

  // Bounds the files that are open at one time.
  static constexpr std::size_t kGroup = 128;

  void begin(std::span<const std::byte> bytes) {
    chunk = bytes;
    opened = false;
    over = false;
    named_bytes = 0;
  }

  std::span<const std::byte> chunk;
  bool opened = false;
  bool over = false;  // the reader is at its end
  ArchiveReader reader;
  std::deque<Part> parts;  // stay where they are while they are read back
  ReadBackGroup group;
  std::uint64_t named_bytes = 0;
};

}  // namespace rdcp::tree
