// The messages by which a coordinator learns who can reach whom.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "io/words.h"
#include "tree/messages/message.h"

namespace rdcp::tree {

// How long an agent knocks at most. Both ways are tried, almost at once, before the data goes through ssh.
inline constexpr std::chrono::milliseconds kKnockMax{1500};

// Asks an agent whether it can reach the other one by TCP.
struct Knock {
  static constexpr MessageType kType = MessageType::knock;
  std::vector<std::string> hosts;  // numeric addresses
  std::uint16_t port = 0;
  auto fields() { return std::tie(hosts, port); }
};

// The answer.
struct Knocked {
  static constexpr MessageType kType = MessageType::knocked;
  std::vector<std::uint16_t> answered;  // places in `hosts`
  io::Words none_because;               // if none has answered
  auto fields() { return std::tie(answered, none_because); }
};

}  // namespace rdcp::tree
