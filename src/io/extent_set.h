// A set of the bytes of a file, kept as extents that neither overlap nor touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "io/file.h"

namespace rdcp::io {

// The end of an extent, offset + length, must fit in 64 bits. Not thread-safe.
class ExtentSet {
 public:
  void add(const Extent& extent);
  void remove(const Extent& extent);
  bool empty() const { return ends_.empty(); }
  // Returns how many extents the set has, of which each takes a few dozen bytes of memory.
  std::size_t count() const { return ends_.size(); }
  // Returns true if all bytes of the extent are in the set.
  bool covers(const Extent& extent) const;
  // Returns true if a byte before this offset is in the set.
  bool has_any_before(std::uint64_t offset) const { return !empty() && ends_.begin()->first < offset; }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // the end of each extent, by its beginning
};

}  // namespace rdcp::io
