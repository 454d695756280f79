// What has arrived and nobody has taken yet.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace rdcp::cli {

// A bounded list of messages, or of the parts of messages. Whoever takes what has come after each turn of its
// loop never meets the bounds: at one time no more arrives than a message and what fits into one read(2).
// What an agent says in a mode where nobody takes it does.
template <class Item>
class Inbox {
 public:
  static constexpr std::size_t kBytesMax = 32 << 20;  // as they came over the wire
  static constexpr std::size_t kItemsMax = 1 << 20;

  // wire_bytes: of all of them together. False: too much, nothing was added.
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
