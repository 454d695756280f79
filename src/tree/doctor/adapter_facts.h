// The facts about RDMA adapters that no verb tells: their PCIe slots, ARP where two ports share a subnet, and
// the counters of what went wrong on the network. They come from sysfs and /proc/sys.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "net/rails/rdma_facts.h"

namespace rdcp::tree {

// A PCIe link; zeros if it is not known, as with a device that is not on PCIe.
struct PcieLink {
  double gigatransfers = 0;  // for each lane and second
  unsigned lanes = 0;

  // Returns what it carries, without the coding of bits: 8 of 10 up to 5 GT/s, 128 of 130 above.
  double gigabits() const;
  bool operator==(const PcieLink&) const = default;
};

struct AdapterFacts {
  std::string device;  // "mlx5_0"
  PcieLink link;       // as it runs now (current_link_speed, current_link_width)
  PcieLink most;       // what the adapter could do (max_link_speed, max_link_width)
};
std::vector<AdapterFacts> adapter_facts(const net::RdmaFacts& facts);

// Two interfaces of RDMA ports in one IPv4 subnet, one of which answers ARP requests for the other's address
// (neither arp_ignore nor arp_filter of its own or of "all" is set, see the kernel's ip-sysctl).
struct SharedSubnet {
  std::string one;
  std::string other;
  std::string subnet;  // "10.0.0.0/24"
  bool operator==(const SharedSubnet&) const = default;
};
std::vector<SharedSubnet> shared_subnets(const net::RdmaFacts& facts);

// The counters of all devices whose growth means packets lost, out of order or marked by switches, by text:
// "mlx5_0/1 out_of_sequence". Each driver has its own names in hw_counters.
using NetworkCounters = std::map<std::string, std::uint64_t>;
NetworkCounters network_counters();
// Returns what has grown, for people: "mlx5_0/1 out_of_sequence 12"; empty if nothing has.
std::string growth(const NetworkCounters& before, const NetworkCounters& after);

}  // namespace rdcp::tree
