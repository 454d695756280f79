// The traffic class of packets, by which a network sorts them into queues.
#pragma once

#include <cstdint>
#include <optional>

#include "io/result.h"

namespace rdcp::net {

// The byte of the IP header that IPv4 calls type of service (IP_TOS in ip(7)) and IPv6 traffic class
// (IPV6_TCLASS in ipv6(7)): the DSCP in the upper six bits (RFC 2474), ECN in the lower two (RFC 3168).
// Nothing: the system's default.
using TrafficClass = std::optional<std::uint8_t>;

// Returns the service level of InfiniBand packets of this class where no subnet manager is asked for one: the
// class selector (RFC 2474, 4.2.2), which is 3 of cs3 and af31.
constexpr std::uint8_t service_level_of(std::uint8_t traffic_class) {
  return traffic_class >> 5;
}

// Has the packets of a TCP socket carry this class. Only the DSCP counts, because the kernel sets TCP's ECN
// itself. A listening socket answers with it, and hands it on to the sockets that are accepted. Error
// (connection): the kernel refuses it.
io::Result<void> set_traffic_class(int socket, TrafficClass traffic_class);

}  // namespace rdcp::net
