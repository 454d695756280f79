#include "net/sockets/within_host.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

constexpr unsigned kLoopbackNet = 127;

bool is_loopback(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address.storage);
  return ntohl(v4->sin_addr.s_addr) >> 24 == kLoopbackNet;
}

// Returns an interface's address as to_address() writes it, or nothing if it is of no family that we use.
std::string host_of(const sockaddr* address) {
  if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return {};
  SocketAddress copy;
  copy.length = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(&copy.storage, address, copy.length);
  return to_address(copy).host;
}

io::Result<bool> an_interface_has(const std::string& host) {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0)
    return io::errno_error("list", "network interfaces", errno, io::ErrorKind::connection);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
  for (const ifaddrs* each = list.get(); each != nullptr; each = each->ifa_next) {
    if (host_of(each->ifa_addr) == host) return true;
  }
  return false;
}

}  // namespace

io::Result<io::Fd> connect_to_this_host(const Address& address) {
  auto to = to_socket_address(address);
  if (!to) return to.error();
  // One that is mapped into IPv6 is written, and so compared and used, as what it stands for.
  const Address at = to_address(*to);
  to = to_socket_address(at);
  if (!to) return to.error();
  if (!is_loopback(*to)) {
    const auto ours = an_interface_has(at.host);
    if (!ours) return ours.error();
    if (!*ours) {
      return io::plain_error(io::ErrorKind::connection, "connect to", address.text(),
                             "is no address of this host, and what an agent says leads to no other one");
    }
  }
  return connect_to(at);
}

}  // namespace rdcp::net
