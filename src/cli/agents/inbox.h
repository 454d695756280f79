// A list of what has arrived and nobody has taken yet.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace rdcp::cli {

// A bounded list of messages, or of parts of messages. A coordinator that takes everything in each turn of
// its loop never meets the bounds, because no more arrives in a turn than one message and what fits into one
// read(2). Messages that nobody takes in the coordinator's mode do meet them.
template <class Item>
class Inbox {
 public:
  static constexpr std::size_t kBytesMax = 32 << 20;  // as they came over the wire
  static constexpr std::size_t kItemsMax = 1 << 20;

  // Adds items; wire_bytes is the size of all of them together. Returns false, and adds nothing, if that
  // would be too much.
  bool add(std::vector<Item> items, std::size_t wire_bytes) {
    if (wire_bytes > kBytesMax - bytes_ || items.size() > kItemsMax - items_.size()) return false;
    bytes_ += wire_bytes;
    items_.insert(items_.end(), std::move_iterator(items.begin()), std::move_iterator(items.end()));
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
