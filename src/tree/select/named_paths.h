// The paths that the user named (--files-from), in the order in which a walk meets them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "tree/messages/paths_named.h"

namespace rdcp::tree {

// Paths come as the user wrote them, and are cleaned when they are added, without a look at any file: "//"
// and "." are dropped, ".." removes the name before it and never leaves the root. "d/", "d/." and ".." at the
// end of a path mean the directory's content.
class NamedPaths {
 public:
  static constexpr std::size_t kBytesMax = 256 << 20;  // of memory, so that empty paths count, too

  // Error (protocol): there are too many paths, or the message is malformed.
  io::Result<void> add(const PathsNamed& part);
  // To be called when all paths are added, before anything below.
  void sort();

  struct Range {
    std::size_t first = 0;
    std::size_t last = 0;
    bool empty() const { return first == last; }
  };
  // The paths that begin with one name in a directory.
  struct Group {
    std::string_view name;
    bool itself = false;   // "d", "d/"
    bool content = false;  // "d/"
    Range beneath;         // "d/e", ...
  };
  Range all() const { return {0, paths_.size()}; }
  // Returns a path without a slash at its end.
  std::string_view path(std::size_t at) const;
  // All paths of the range lie in one directory, and prefix is the length of that directory's path with the
  // slash behind it. take_content() removes the root's own content (".") and returns true if it was there.
  // take_group() removes the paths that begin with the next name.
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
  std::vector<Piece> paths_;  // a slash at the end means the content
};

}  // namespace rdcp::tree
