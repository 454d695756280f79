// The messages by which a coordinator learns who can reach whom, and by which agents meet over RDMA.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "io/range.h"
#include "io/words.h"
#include "net/rdma/pair_exchange.h"
#include "tree/messages/chain.h"
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

// Which of an agent's links a message is about: 0 for its own streams, or one more than the number of an
// order to pass on.
using LinkNumber = io::Within<std::uint32_t, 0, kNextTargetsMax>;

// Two agents join queue pairs without librdmacm: the side that connects offers, the other answers, and the
// coordinator passes on what either says. Since version 13, whose agents tell the ports for it (RdmaPort).
struct PairOffered {
  static constexpr MessageType kType = MessageType::pair_offered;
  LinkNumber link;  // of the side that connects; 0 for the side that listens
  net::PairOffer offer;
  auto fields() { return std::tie(link, offer); }
};

struct PairAnswered {
  static constexpr MessageType kType = MessageType::pair_answered;
  LinkNumber link;  // as above
  net::PairAnswer answer;
  auto fields() { return std::tie(link, answer); }
};

}  // namespace rdcp::tree
