#include "net/sockets/address.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <tuple>

#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

// Returns 0 if the speed is not known: virtual and wireless devices say -1 or cannot be read.
int link_megabits(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  int megabits = 0;
  return file >> megabits ? std::max(megabits, 0) : 0;
}

bool is_link_local(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    return IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address.storage);
  return (ntohl(v4->sin_addr.s_addr) >> 16) == 0xa9fe;  // 169.254/16
}

SocketAddress copy_of(const sockaddr& address) {
  SocketAddress copy;
  copy.length = address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(&copy.storage, &address, copy.length);
  return copy;
}

io::Result<std::vector<InterfaceAddress>> interface_addresses() {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return io::errno_error("list", "network interfaces");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
  std::vector<InterfaceAddress> found;
  for (const ifaddrs* each = list.get(); each != nullptr; each = each->ifa_next) {
    constexpr unsigned kUsable = IFF_UP | IFF_RUNNING;
    if (each->ifa_addr == nullptr || (each->ifa_flags & kUsable) != kUsable) continue;
    if (each->ifa_addr->sa_family != AF_INET && each->ifa_addr->sa_family != AF_INET6) continue;
    const SocketAddress address = copy_of(*each->ifa_addr);
    InterfaceAddress item;
    item.interface = each->ifa_name;
    item.host = to_address(address).host;
    item.megabits = link_megabits(item.interface);
    item.loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
    item.link_local = is_link_local(address);
    found.push_back(std::move(item));
  }
  return found;
}

// Returns the third field of "client-address client-port server-address server-port" (ssh(1)).
std::string address_that_ssh_reached(const std::string& ssh_connection) {
  std::istringstream fields(ssh_connection);
  std::string client, client_port, server;
  fields >> client >> client_port >> server;
  return server;
}

}  // namespace

std::vector<Address> addresses_at(const std::vector<std::string>& hosts, std::uint16_t port) {
  std::vector<Address> addresses;
  for (const std::string& host : hosts) addresses.push_back({host, port});
  return addresses;
}

std::string Address::text() const {
  const bool has_colons = host.find(':') != std::string::npos;
  return (has_colons ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::vector<std::string> best_first(std::vector<InterfaceAddress> found, const std::string& ssh_connection) {
  std::ranges::stable_sort(found, {}, [](const InterfaceAddress& address) {
    return std::tuple(address.loopback, address.link_local, -address.megabits);
  });
  std::vector<std::string> hosts;
  if (std::string reached = address_that_ssh_reached(ssh_connection); !reached.empty()) {
    hosts.push_back(std::move(reached));
  }
  for (InterfaceAddress& address : found) {
    if (std::ranges::find(hosts, address.host) == hosts.end()) hosts.push_back(std::move(address.host));
  }
  return hosts;
}

io::Result<std::vector<std::string>> own_addresses(const std::string& via) {
  if (!via.empty() && to_socket_address({via, 0})) return std::vector<std::string>{via};
  auto found = interface_addresses();
  if (!found) return found.error();
  if (!via.empty()) {
    constexpr std::size_t kNamedMax = 16;
    std::set<std::string> others;
    for (const InterfaceAddress& address : *found) {
      if (others.size() < kNamedMax) others.insert(address.interface);
    }
    std::erase_if(*found, [&via](const InterfaceAddress& address) { return address.interface != via; });
    if (found->empty()) {
      return io::plain_error(io::ErrorKind::usage, "use interface", via,
                             fmt::format("no such interface is up and has an address; there are: {}{}",
                                         fmt::join(others, ", "), others.size() < kNamedMax ? "" : ", ..."));
    }
    return best_first(std::move(*found), "");
  }
  const char* ssh_connection = std::getenv("SSH_CONNECTION");
  std::vector<std::string> hosts =
      best_first(std::move(*found), ssh_connection != nullptr ? ssh_connection : "");
  if (hosts.empty()) {
    return io::plain_error(io::ErrorKind::connection, "list", "network interfaces",
                           "no RDMA device is up and has an address");
  }
  return hosts;
}

// No byte is sent by it: bind(2) says EADDRNOTAVAIL of an address that is not here.
std::optional<bool> is_of_this_host(const Address& address) {
  const auto at = to_socket_address({address.host, 0});
  if (!at) return std::nullopt;
  const io::Fd socket(::socket(at->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return std::nullopt;
  if (::bind(socket.get(), at->get(), at->length) == 0) return true;
  return errno == EADDRNOTAVAIL ? std::optional(false) : std::nullopt;
}

io::Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port) {
  const bool in_brackets = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  const std::string name = in_brackets ? host.substr(1, host.size() - 2) : host;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* raw = nullptr;
  int failure = ::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &raw);
  // The first call may fail because loopback does not count as an address of this host (RFC 3493), although
  // it may be what is asked for.
  hints.ai_flags = 0;
  if (failure != 0) failure = ::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &raw);
  if (failure != 0) {
    return io::plain_error(io::ErrorKind::unreachable, "find host", host, ::gai_strerror(failure));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(raw, &::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    if (one->ai_family == AF_INET || one->ai_family == AF_INET6) {
      addresses.push_back(to_address(copy_of(*one->ai_addr)));
    }
  }
  return addresses;
}

}  // namespace rdcp::net
