// The message that brings the paths that the user named (--files-from).
#pragma once

#include <cstddef>
#include <string>
#include <tuple>

#include "tree/message.h"

namespace rdcp::tree {

// Some of the paths, each behind the other and ended by NUL; as many messages as it takes, before the job.
struct PathsNamed {
  static constexpr MessageType kType = MessageType::paths_named;
  std::string paths;
  auto fields() { return std::tie(paths); }

  static constexpr std::size_t kBytesMax = 1 << 20;  // of one message
};

}  // namespace rdcp::tree
