// Finds the addresses at which hosts can be reached.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/result.h"

namespace rdcp::net {

// A numeric address, IPv4 or IPv6 (with %scope where link-local).
struct Address {
  std::string host;
  std::uint16_t port = 0;
  std::string text() const;  // "10.0.0.1:80", "[fe80::1%eth0]:80"
  bool operator==(const Address&) const = default;
};

// Returns the addresses of one port at several hosts, in their order.
std::vector<Address> addresses_at(const std::vector<std::string>& hosts, std::uint16_t port);

// Ports of which the first that is free is taken. From 0: any that the kernel gives.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;  // not below `first`
};

// Returns the addresses at which this host can probably be reached, best first, without a port: the address
// that ssh's client reached (SSH_CONNECTION, third field), then those of interfaces that are up, fastest link
// first (/sys/class/net/*/speed), link-local ones after all others, loopback last. With `via`, an address or
// an interface's name, only that address or the interface's addresses. Errors: no interface of that name is
// up (usage), there is no address at all (connection).
io::Result<std::vector<std::string>> own_addresses(const std::string& via);

// True if this host has the address, false if another one may have it. Nothing if the system cannot tell: the
// host is no numeric address, or has the scope of an interface that is not here.
std::optional<bool> is_of_this_host(const Address& address);

// Returns the addresses of a host's name, in the system's order (getaddrinfo(3)). The name may be numeric,
// also "[IPV6]". Error (unreachable): there are none.
io::Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port);

// An address of an interface that is up.
struct InterfaceAddress {
  std::string interface;
  std::string host;
  int megabits = 0;  // the link's speed, 0 if it is not known
  bool loopback = false;
  bool link_local = false;
};

// Sorts as own_addresses() describes. ssh_connection is the variable's value and may be empty.
std::vector<std::string> best_first(std::vector<InterfaceAddress> found, const std::string& ssh_connection);

}  // namespace rdcp::net
