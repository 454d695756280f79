// The paths that the user named (--files-from), in the order in which a walk meets them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "tree/paths_named.h"

namespace rdcp::tree {

// As users write them, paths are cleaned when they are added, without a look at any file: "//" and "." fall
// away, ".." takes the name before it along and never leaves the root. What stands at the end of "d/", "d/."
// and ".." says that the content is meant.
class NamedPaths {
 public:
  static constexpr std::size_t kBytesMax = 256 << 20;  // of memory, so that paths without a byte count, too

  // Error (protocol): too much of them, or one is too long.
  io::Result<void> add(const PathsNamed& part);
  // When all are added, before the rest.
  void sort();

  struct Range {
    std::size_t first = 0;
    std::size_t last = 0;
    bool empty() const { return first == last; }
  };
  // What is named of one name in a directory.
  struct Group {
    std::string_view name;
    bool itself = false;   // "d", "d/"
    bool content = false;  // "d/"
    Range beneath;         // "d/e", ...
  };
  Range all() const { return {0, paths_.size()}; }
  // Without a slash at its end.
  std::string_view path(std::size_t at) const;
  // Of a range whose paths all lie in one directory; prefix: the length of its path, with the slash behind
  // it. Takes away the root's own content ("."): true if it was there.
  bool take_content(Range& range) const;
  Group take_group(Range& range, std::size_t prefix) const;
  bool has(const Range& range, std::size_t prefix, std::string_view name) const;

 private:
  struct Piece {
    std::uint32_t offset;
    std::uint32_t length;
  };
  bool has_room(const PathsNamed& part) const;
  void add_path(std::string_view path);
  std::string_view text(std::size_t at) const { return text(paths_[at]); }
  std::string_view text(const Piece& piece) const {
    return std::string_view(bytes_).substr(piece.offset, piece.length);
  }

  std::string bytes_;
  std::vector<Piece> paths_;  // a slash at the end: the content
};

}  // namespace rdcp::tree
