// Digests of whole files, as a source sends them and a list of digests has them.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "io/digest.h"
#include "io/range.h"
#include "tree/messages/message.h"
#include "tree/meta/entry.h"

namespace rdcp::tree {

// One entry of a tree in a list of digests.
struct SumLine {
  EntryType type = EntryType::file;
  std::string path;        // relative to the tree's top; empty for the top itself
  std::uint64_t size = 0;  // of a file
  std::int64_t mtime = 0;
  io::Nanoseconds mtime_ns;
  bool has_facts = true;   // false if only path and digest are known
  io::Digest digest;       // of a file's content or a symlink's target, else zeros
  std::string first_name;  // hard link: the name that was copied before; not in a list
  bool linked = false;     // hard links to it will follow; not in a list
  auto fields() {
    return std::tie(type, path, size, mtime, mtime_ns, has_facts, digest.bytes, first_name, linked);
  }
};

// Sent by the source to the coordinator: what has arrived at the target.
struct Sums {
  static constexpr MessageType kType = MessageType::sums;
  std::vector<SumLine> lines;
  auto fields() { return std::tie(lines); }
};

}  // namespace rdcp::tree
