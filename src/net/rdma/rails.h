// Which RDMA ports of two hosts go together.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "net/rdma/rdma_port.h"

namespace rdcp::net {

// A pair of ports that can reach each other: the connecting side's and the listening side's.
struct Rail {
  RdmaPort connecting;
  RdmaPort listening;  // a link-local host has the connecting side's %scope, the only one of use there
  auto fields() { return std::tie(connecting, listening); }
};

struct RailChoice {
  std::vector<Rail> rails;  // the fastest first; no port is in two of them
  std::string none_because;
};

// Pairs of the same kind of link (InfiniBand with InfiniBand, and so on) whose addresses are in one subnet
// (same family, same network under both prefixes; IPv6 link-local only with link-local, and only one such
// port on each side), the fastest first, each port used once. Loopback pairs (both agents on one host: same
// device and address) are in order. Only when there is none: ports of the same kind and family, which may
// reach each other through routers (RoCE v2 and iWARP do); connecting shows. via, where not empty: only pairs
// of which one side has that device, interface or address.
RailChoice choose_rails(const RdmaPorts& connecting, const RdmaPorts& listening, const std::string& via);

}  // namespace rdcp::net
