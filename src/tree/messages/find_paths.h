// The messages by which a source finds what the patterns in its user's words stand for. Since version 11.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tree/messages/message_type.h"

namespace rdcp::tree {

// A source finds at most so many paths, with so many bytes: they must fit into its job.
inline constexpr std::size_t kPathsFoundMax = 65'536;
inline constexpr std::size_t kPathsFoundBytesMax = 2 << 20;

// Asks the source for the paths of these words, before its job.
struct FindPaths {
  static constexpr MessageType kType = MessageType::find_paths;
  static constexpr std::uint32_t kFirstProtocol = 11;
  std::vector<std::string> words;  // as the user gave them
  auto fields() { return std::tie(words); }
};

// One path that a word stands for.
struct PathFound {
  std::uint32_t word = 0;  // the index of the word
  std::string path;
  auto fields() { return std::tie(word, path); }
};

// Answers FindPaths, in the order of the words. A word with no pattern in it, and one that is itself the name
// of something, stands for itself. Words that stand for nothing have been reported as problems.
struct PathsFound {
  static constexpr MessageType kType = MessageType::paths_found;
  std::vector<PathFound> found;
  auto fields() { return std::tie(found); }
};

}  // namespace rdcp::tree
