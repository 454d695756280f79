// The message with the paths that the user named (--files-from).
#pragma once

#include <cstddef>
#include <string>
#include <tuple>

#include "tree/messages/message.h"

namespace rdcp::tree {

// Some of the paths, each ended by NUL. As many of these messages as needed come before the job.
struct PathsNamed {
  static constexpr MessageType kType = MessageType::paths_named;
  std::string paths;
  auto fields() { return std::tie(paths); }

  static constexpr std::size_t kBytesMax = 1 << 20;  // at most so many bytes in one message
};

}  // namespace rdcp::tree
