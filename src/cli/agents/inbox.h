// A list of what has arrived and nobody has taken yet.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace rdcp::cli {

// A bounded list of messages that wait for somebody who takes them later. A user that takes everything in
// each turn of its loop never meets the bounds, because no more arrives in a turn than one message and what
// fits into one read(2).
template <class Item>
class Inbox {
 public:
  static constexpr std::size_t kBytesMax = 32 << 20;  // as they came over the wire
  static constexpr std::size_t kItemsMax = 1 << 20;

  // Adds an item of wire_bytes. Returns false, and does not add it, if that would be too much.
  bool add(Item item, std::size_t wire_bytes) {
    if (wire_bytes > kBytesMax - bytes_ || items_.size() == kItemsMax) return false;
    bytes_ += wire_bytes;
    items_.push_back(std::move(item));
    return true;
  }
  bool empty() const { return items_.empty(); }
  std::vector<Item> take() {
    bytes_ = 0;
    return std::exchange(items_, {});
  }

 private:
  std::vector<Item> items_;
  std::size_t bytes_ = 0;
};

}  // namespace rdcp::cli
