// An RDMA port of which only the facts are known.
#pragma once

#include <string>
#include <utility>

#include "net/rails/rdma_port.h"

namespace rdcp::net {

inline RdmaPort port_of(std::string device, std::string host, std::uint8_t prefix_bits,
                        std::uint32_t megabits = 100'000, LinkKind link = LinkKind::roce) {
  RdmaPort made;
  made.device = std::move(device);
  made.interface = "eth-" + made.device;
  made.host = std::move(host);
  made.prefix_bits = prefix_bits;
  made.megabits = megabits;
  made.link = link;
  return made;
}

}  // namespace rdcp::net
