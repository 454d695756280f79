#include "net/sockets/traffic_class.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

namespace rdcp::net {

// An IPv6 socket may have an IPv4 peer, so it gets both.
io::Result<void> set_traffic_class(int socket, TrafficClass traffic_class) {
  if (!traffic_class) return {};
  const int value = *traffic_class;
  int family = AF_UNSPEC;
  socklen_t bytes = sizeof(family);
  const bool ipv6 = ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &bytes) == 0 && family == AF_INET6;
  const bool set = ::setsockopt(socket, IPPROTO_IP, IP_TOS, &value, sizeof(value)) == 0 &&
                   (!ipv6 || ::setsockopt(socket, IPPROTO_IPV6, IPV6_TCLASS, &value, sizeof(value)) == 0);
  if (set) return {};
  return io::errno_error("set the traffic class", std::to_string(value), errno, io::ErrorKind::connection);
}

}  // namespace rdcp::net
