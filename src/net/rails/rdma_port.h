// Finds the RDMA ports of this host, and the IP addresses by which librdmacm reaches them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "io/words.h"

namespace rdcp::net {

enum class LinkKind : std::uint8_t { infiniband = 1, roce, iwarp };
constexpr LinkKind first_of(LinkKind) {
  return LinkKind::infiniband;
}
constexpr LinkKind last_of(LinkKind) {
  return LinkKind::iwarp;
}
std::string_view describe(LinkKind kind);  // "InfiniBand", "RoCE", "iWARP"

// A port of an RDMA device that can be used: its link is active. It has one RdmaPort for each IP address by
// which librdmacm reaches it, and one without a host for each GID by which others can reach it without
// librdmacm (pair_exchange.h). Versions before 13 have no use for the latter.
struct RdmaPort {
  std::string device;  // "mlx5_0"
  std::uint8_t port = 1;
  LinkKind link = LinkKind::roce;
  std::string interface;         // the network interface of its address: "eth0", "ib0"
  std::string host;              // numeric address, IPv6 link-local with %scope; empty: see below
  std::uint8_t prefix_bits = 0;  // of the subnet that host is in
  std::string gid;               // as in /sys/class/infiniband/DEVICE/ports/N/gids; empty if not known
  std::uint32_t megabits = 0;    // active speed times active width
  std::uint32_t mtu_bytes = 0;   // active_mtu of the path
  // Limits (ibv_query_device(3)).
  std::uint32_t work_requests_max = 0;        // of one queue pair
  std::uint64_t memory_region_bytes_max = 0;  // 0 if unknown
  // The port number on which a listener waits at this address, 0 if there is none.
  std::uint16_t listen_port = 0;

  // Returns "mlx5_0/1", as rdma-link(8) prints it.
  std::string name() const { return name_of(device, port); }
  static std::string name_of(const std::string& device, unsigned port) {
    return device + "/" + std::to_string(port);
  }
  // Returns "mlx5_0/1, InfiniBand, 200 Gb/s, GID fe80::1, 10.0.0.1 on ib0".
  std::string text() const;
  // Returns its host, or the address in its GID if it has none.
  std::string address() const;
  // True if it is for connections that are made without librdmacm.
  bool by_hand() const { return host.empty(); }
  auto fields() {
    return std::tie(device, port, link, interface, host, prefix_bits, gid, megabits, mtu_bytes,
                    work_requests_max, memory_region_bytes_max, listen_port);
  }
  bool operator==(const RdmaPort&) const = default;
};

// They may differ in their address.
inline bool is_same_port(const RdmaPort& one, const RdmaPort& other) {
  return one.device == other.device && one.port == other.port;
}

// Returns the address in a GID: "10.0.0.1" for one that maps an IPv4 address, as with RoCE, else an IPv6 one.
std::string address_in(const std::string& gid);

struct RdmaPorts {
  std::vector<RdmaPort> usable;  // the fastest first
  // Says why usable is empty, or has no host, in words for a user: "no RDMA device", "mlx5_0/1 is down",
  // "rxe0 has no IP address", "/dev/infiniband/rdma_cm: No such file or directory (module rdma_ucm is not
  // loaded)", ...
  io::Words none_because;
  auto fields() { return std::tie(usable, none_because); }
};

// Asks the kernel. This is cheap if there is no device (a look into /sys/class/infiniband). It never fails:
// none_because says what is wrong.
RdmaPorts own_rdma_ports();

}  // namespace rdcp::net
