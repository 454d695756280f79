// Takes the messages that come from an agent: by a handler, or into a list.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "io/result.h"
#include "tree/guards/told_addresses.h"
#include "tree/messages/message_type.h"
#include "tree/protocol/control.h"

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

// One handler for each kind of message.
class MessageHandlers {
 public:
  // Has messages of a kind taken by take(message, raw), which may refuse them. What one tells for an address
  // and is none has been taken out of it.
  template <class Message, class Take>
  void set(Take take) {
    handlers_[Message::kType] = [take](auto& from, auto& raw) -> io::Result<void> {
      auto message = from.template decode<Message>(raw);
      if (!message) return message.error();
      if constexpr (requires { message->reach; }) tree::keep_addresses(message->reach);
      return take(*message, raw);
    };
  }
  bool has(tree::MessageType type) const { return handlers_.contains(type); }
  // Decodes a message of a kind that has a handler, and hands it over. Error: it is garbled, or refused.
  io::Result<void> take(const tree::ControlChannel& from, const tree::RawMessage& raw) const {
    return handlers_.at(raw.type)(from, raw);
  }

 private:
  using Handler = std::function<io::Result<void>(const tree::ControlChannel&, const tree::RawMessage&)>;
  std::map<tree::MessageType, Handler> handlers_;
};

}  // namespace rdcp::cli
