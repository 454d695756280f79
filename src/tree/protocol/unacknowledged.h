// The messages that one side of a control channel has sent and the other has not acknowledged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "io/secret.h"

namespace rdcp::tree {

// Messages count from the beginning of the channel, in the order in which they were sent. Not thread-safe.
class Unacknowledged {
 public:
  static constexpr std::size_t kBytesMax = 16 << 20;

  // Adds the next message, as it travels. If it finds no room, nothing is kept from now on.
  void add(io::SecretText message);
  // Drops the first `count` messages of all, because the peer has received them. Returns false, and drops
  // nothing, if that cannot be: fewer were sent, or it has acknowledged more before.
  bool acknowledge(std::uint64_t count);
  // Keeps nothing, now and from now on.
  void give_up();
  // False if nothing is kept, so that what the peer lacks cannot be sent again.
  bool complete() const { return complete_; }
  // Returns what is kept, the oldest first.
  const std::deque<io::SecretText>& messages() const { return messages_; }

 private:
  std::deque<io::SecretText> messages_;
  std::size_t bytes_ = 0;
  std::uint64_t sent_ = 0;
  bool complete_ = true;
};

}  // namespace rdcp::tree
