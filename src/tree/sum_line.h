// Digests of whole files, as a source tells them and a list has them.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "io/digest.h"
#include "io/range.h"
#include "tree/entry.h"
#include "tree/message.h"

namespace rdcp::tree {

// One thing in a tree as a list has it.
struct SumLine {
  EntryType type = EntryType::file;
  std::string path;        // relative to the tree's top; empty: the top
  std::uint64_t size = 0;  // of a file
  std::int64_t mtime = 0;
  io::Nanoseconds mtime_ns;
  bool has_facts = true;   // false: nothing but path and digest is known
  io::Digest digest;       // of a file's content, a symlink's target; zeros for all else
  std::string first_name;  // of a hard link: the name that was copied before; not in a list
  bool linked = false;     // there will be hard links to it; not in a list
  auto fields() {
    return std::tie(type, path, size, mtime, mtime_ns, has_facts, digest.bytes, first_name, linked);
  }
};

// Source -> coordinator: what has arrived at the target.
struct Sums {
  static constexpr MessageType kType = MessageType::sums;
  std::vector<SumLine> lines;
  auto fields() { return std::tie(lines); }
};

}  // namespace rdcp::tree
