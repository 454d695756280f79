// Collects what the kernel says about RDMA on this host, before anything is concluded from it: every device
// and port is listed, usable or not. rdma_port.h judges this for copies, the doctor for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/rails/rdma_port.h"

namespace rdcp::net {

// An entry of a port's table of GIDs.
struct RdmaGidFacts {
  std::string gid;
  bool routable = false;         // RoCE version 2
  std::string interface;         // if it belongs to one
  std::uint8_t prefix_bits = 0;  // of the subnet of the IP address that it stands for, if it is known
};

struct RdmaPortFacts {
  std::uint8_t number = 1;
  LinkKind link = LinkKind::roce;
  std::string state;           // "ACTIVE", "DOWN", "INIT", "ARMED"
  std::string physical_state;  // "LinkUp", "Polling", "Disabled", ...; empty if not known
  std::uint32_t megabits = 0;
  std::uint32_t mtu_bytes = 0;      // the active one
  std::uint32_t mtu_bytes_max = 0;  // what the port could do
  // The traffic class (IP TOS) of connections that name none: default_roce_tos in configfs (rdma_cm); -1 if
  // nobody has set one up there.
  int default_tos = -1;
  std::vector<std::string> gids;  // those that are set, written as in sysfs
  std::vector<RdmaGidFacts> gid_table;
  std::vector<std::string> interfaces;
};

struct RdmaDeviceFacts {
  std::string name;
  std::string node;      // "/dev/infiniband/uverbs0"; empty if libibverbs does not offer the device
  int open_error = 0;    // errno of opening node
  bool connects = true;  // has reliable connections, as InfiniBand, RoCE and iWARP devices do
  int numa_node = -1;    // numa_node_of()
  unsigned completion_vectors = 0;
  std::uint32_t work_requests_max = 0;
  std::uint64_t memory_region_bytes_max = 0;
  std::vector<RdmaPortFacts> ports;
};

// An IP address of an interface that is up, with the port that librdmacm would use for it.
struct RdmaAddressFacts {
  std::string interface;
  std::string host;
  std::uint8_t prefix_bits = 0;
  std::string device;
  std::uint8_t port = 1;
  std::string gid;
};

struct RdmaFacts {
  std::vector<RdmaDeviceFacts> devices;
  bool has_uverbs = true;  // the module ib_uverbs is loaded
  int cm_error = 0;        // errno of opening kCmNode
  std::vector<RdmaAddressFacts> addresses;
};

inline constexpr const char* kCmNode = "/dev/infiniband/rdma_cm";

// Collects the facts. Calls no library if /sys/class/infiniband is empty.
RdmaFacts rdma_facts();

// Returns what own_rdma_ports() concludes from these facts.
RdmaPorts usable_ports(const RdmaFacts& facts);

// Returns the network interface that a device is on, for TCP that is to go the same way; other words than a
// device's name as they are.
std::string interface_of(const std::string& via, const RdmaPorts& ports);

// Returns default_roce_tos of a port; see RdmaPortFacts.
int default_tos(const std::string& device, unsigned port);

// Returns the NUMA node of a device; where it has none, as one that is made in software, that of its network
// interface. -1 if neither is known.
int numa_node_of(const std::string& device, const std::string& interface);

// Returns speed times width, given in ibv_port_attr's codes; 0 if a code is not known.
std::uint32_t link_megabits(std::uint32_t speed_code, std::uint8_t width_code);

// Shortens a GID to what people write: "fe80::1" for sysfs' fe80:0000:0000:0000:0000:0000:0000:0001.
std::string short_gid(const std::string& gid);

}  // namespace rdcp::net
