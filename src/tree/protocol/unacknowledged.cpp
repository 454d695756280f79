#include "tree/protocol/unacknowledged.h"

#include <utility>

namespace rdcp::tree {

void Unacknowledged::add(io::SecretText message) {
  ++sent_;
  if (complete_ && message.size() > kBytesMax - bytes_) give_up();
  if (!complete_) return;
  bytes_ += message.size();
  messages_.push_back(std::move(message));
}

bool Unacknowledged::acknowledge(std::uint64_t count) {
  if (!complete_) return count <= sent_;
  const std::uint64_t dropped = sent_ - messages_.size();
  if (count < dropped || count > sent_) return false;
  for (std::uint64_t i = dropped; i < count; ++i) {
    bytes_ -= messages_.front().size();
    messages_.pop_front();
  }
  return true;
}

void Unacknowledged::give_up() {
  complete_ = false;
  bytes_ = 0;
  messages_.clear();
}

}  // namespace rdcp::tree
