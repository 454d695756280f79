// Finds out whether another host can be reached by TCP.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "net/sockets/address.h"

namespace rdcp::net {

struct KnockOutcome {
  std::vector<std::uint16_t> answered;  // the places, in the list, of addresses that took a connection
  std::string none_because;             // if there are none: each address and its cause
};

// Connects to all of these addresses at once, says nothing, and closes the connections. Returns once one has
// answered and the others had a little more time, when all have refused, or after `limit`: who drops packets
// never answers. It also returns soon after `stop` is true. It leaves out those beyond kKnocksMax. An address
// of this host at `own_port` is our own listener, and no answer; 0: there is none.
KnockOutcome knock(std::span<const Address> addresses, std::chrono::milliseconds limit,
                   std::uint16_t own_port, const std::atomic<bool>& stop);

inline constexpr std::size_t kKnocksMax = 32;

}  // namespace rdcp::net
