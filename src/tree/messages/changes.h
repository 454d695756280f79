// The message by which the target tells the coordinator what a sync changes.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "tree/messages/message.h"

namespace rdcp::tree {

// A change that a sync makes, or would make, at one path.
struct Change {
  io::Words code;      // eleven characters, as rsync --itemize-changes has them: ">f.st......"
  std::string path;    // beneath DST; that of a directory ends in a slash
  std::string target;  // a symlink's target, or another name of a hard link's file; else empty
  auto fields() { return std::tie(code, path, target); }
};

// Sent by the target, with many changes at a time.
struct Changes {
  static constexpr MessageType kType = MessageType::changes;
  std::vector<Change> list;
  auto fields() { return std::tie(list); }
};

}  // namespace rdcp::tree
