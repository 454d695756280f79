// Asks the kernel whether it has a route.
#pragma once

#include <cstdint>
#include <string>

#include "io/fd.h"

namespace rdcp::net {

// Holds a socket to the kernel's routing tables (rtnetlink(7)). One thread uses this.
class Routes {
 public:
  Routes();

  // Says why packets from the address `from` of this interface would find no way to the address `to`: "no
  // route from 10.0.0.1 (eth0) to 10.0.1.2". Returns an empty string if they would, or if the kernel cannot
  // be asked. All are numeric; `from` and `to` are of one family. An address of this host is reached only
  // from the interface that has it, because RDMA devices do not loop back what is for another device.
  //
  // The answer is that of the routing table alone (RTM_F_FIB_MATCH, Linux 4.13): for IPv4 a lookup that names
  // an interface otherwise succeeds without a route, as if the whole world were on the link.
  std::string problem(const std::string& from, const std::string& interface, const std::string& to);

 private:
  io::Fd socket_;
  std::uint32_t sequence_ = 0;
};

}  // namespace rdcp::net
