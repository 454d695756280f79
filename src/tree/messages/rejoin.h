// How a coordinator rejoins an agent when the connection between them is lost: each side keeps what it has
// sent until the other has acknowledged it, and sends the rest again. Since version 10.
#pragma once

#include <cstdint>
#include <tuple>

#include "io/range.h"
#include "tree/messages/copy_settings.h"
#include "tree/messages/message_type.h"

namespace rdcp::tree {

// To an agent that has a socket for it: the coordinator will rejoin it. If the connection is lost while data
// moves, the agent goes on, and waits this long.
struct Stay {
  static constexpr MessageType kType = MessageType::stay;
  io::Within<std::uint32_t, 1, kRetrySecondsMax> seconds = 1;
  auto fields() { return std::tie(seconds); }
};

// Both ways, once an agent stays: the sender has received so many messages since the beginning. Messages of
// this kind and the next do not count.
struct Ack {
  static constexpr MessageType kType = MessageType::ack;
  std::uint64_t received = 0;
  auto fields() { return std::tie(received); }
};

// The first message of each side over a new connection: the same number, for what was lost with the old one.
struct Rejoin {
  static constexpr MessageType kType = MessageType::rejoin;
  std::uint64_t received = 0;
  auto fields() { return std::tie(received); }
};

}  // namespace rdcp::tree
