// Finds out whether another host can be reached by TCP.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/fd.h"
#include "net/sockets/address.h"

namespace rdcp::net {

// A connection over which nothing has been said yet. It is non-blocking, and may still be under way.
struct OpenConnection {
  Address to;
  io::Fd socket;
};

struct KnockOutcome {
  std::vector<std::uint16_t> answered;  // the places, in the list, of addresses that took a connection
  std::string none_because;             // if there are none: each address and its cause
  std::vector<OpenConnection> open;     // those to the first of them; all others are closed
};

struct KnockLimits {
  std::chrono::milliseconds time;
  std::size_t to_first = 1;  // so many connections to the first address, at least one
};

// Connects to all of these addresses at once, and says nothing. Returns once one has answered and the others
// had a little more time, when all have refused, or after limits.time: who drops packets never answers. It
// also returns soon after `stop` is true. It leaves out addresses beyond kKnocksMax.
//
// If the first, which is the other side's best (own_addresses()), is not of this host, that side is
// elsewhere: then who listens at an address that both hosts have, such as that of loopback or of a bridge for
// containers, is a stranger, and is not asked. The others prove nothing, since an interface may have gone
// meanwhile. Else an address of this host at `own_port` is our own listener, and no answer; 0: there is none.
KnockOutcome knock(std::span<const Address> addresses, const KnockLimits& limits, std::uint16_t own_port,
                   const std::atomic<bool>& stop);

inline constexpr std::size_t kKnocksMax = 32;

}  // namespace rdcp::net
