#include "io/extent_set.h"

#include <algorithm>
#include <iterator>

namespace rdcp::io {

void ExtentSet::add(const Extent& extent) {
  if (extent.length == 0) return;
  std::uint64_t begin = extent.offset;
  std::uint64_t end = begin + extent.length;
  auto at = ends_.upper_bound(begin);
  if (at != ends_.begin() && std::prev(at)->second >= begin) --at;
  while (at != ends_.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = ends_.erase(at);
  }
  ends_.emplace_hint(at, begin, end);
}

void ExtentSet::remove(const Extent& extent) {
  if (extent.length == 0) return;
  const std::uint64_t begin = extent.offset;
  const std::uint64_t end = begin + extent.length;
  auto at = ends_.upper_bound(begin);
  if (at != ends_.begin() && std::prev(at)->second > begin) --at;
  while (at != ends_.end() && at->first < end) {
    const auto [first, last] = *at;
    at = ends_.erase(at);
    if (first < begin) ends_.emplace_hint(at, first, begin);
    if (last > end) at = ends_.emplace_hint(at, end, last);
  }
}

bool ExtentSet::covers(const Extent& extent) const {
  const auto after = ends_.upper_bound(extent.offset);
  return after != ends_.begin() && std::prev(after)->second >= extent.offset + extent.length;
}

}  // namespace rdcp::io
