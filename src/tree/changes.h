// What a sync tells the user, from the target to the coordinator.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "tree/message.h"

namespace rdcp::tree {

// What a sync changes (or would change) at one path.
struct Change {
  io::Words code;      // eleven characters, as rsync --itemize-changes has them: ">f.st......"
  std::string path;    // beneath DST; a directory's ends in a slash
  std::string target;  // a symlink's, or the file that a hard link is one with; else empty
  auto fields() { return std::tie(code, path, target); }
};

// From the target, many at a time.
struct Changes {
  static constexpr MessageType kType = MessageType::changes;
  std::vector<Change> list;
  auto fields() { return std::tie(list); }
};

}  // namespace rdcp::tree
