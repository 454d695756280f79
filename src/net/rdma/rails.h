// Pairs the RDMA ports of two hosts.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "net/rdma/rdma_port.h"

namespace rdcp::net {

// A pair of ports that can reach each other: the connecting side's and the listening side's.
struct Rail {
  RdmaPort connecting;
  RdmaPort listening;  // a link-local host has the %scope of the connecting side, where it is used
  auto fields() { return std::tie(connecting, listening); }
};

struct RailChoice {
  std::vector<Rail> rails;  // the fastest first; no port is in two of them
  std::string none_because;
};

// Pairs ports of the same kind of link (InfiniBand with InfiniBand, and so on) whose addresses are in one
// subnet (same family, same network under both prefixes; IPv6 link-local only with link-local, and only if
// each side has one such port), the fastest first, each port once. A port may be paired with itself (both
// agents are on one host). If there is no such pair, ports of the same kind and family are paired, because
// they may reach each other through routers (RoCE v2 and iWARP do); connecting will show. If via is not
// empty, one side of each pair must have that device, interface or address.
RailChoice choose_rails(const RdmaPorts& connecting, const RdmaPorts& listening, const std::string& via);

}  // namespace rdcp::net
