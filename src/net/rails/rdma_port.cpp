#include "net/rails/rdma_port.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <tuple>

#include "net/rails/rdma_facts.h"

namespace rdcp::net {
namespace {

std::string cm_problem(int code) {
  std::string text = fmt::format("{}: {}", kCmNode, ::strerrordesc_np(code));
  if (code == ENOENT || code == ENODEV || code == ENXIO) text += " (module rdma_ucm is not loaded)";
  return text;
}

// Says what keeps a whole device from being used, if anything does.
std::optional<std::string> device_problem(const RdmaFacts& facts, const RdmaDeviceFacts& device) {
  if (device.node.empty()) {
    return device.name + (facts.has_uverbs ? " has no driver in libibverbs (package ibverbs-providers)"
                                           : " is out of reach (module ib_uverbs is not loaded)");
  }
  if (device.open_error != 0) {
    return fmt::format("{}, {}: {}", device.name, device.node, ::strerrordesc_np(device.open_error));
  }
  if (!device.connects) return device.name + " has no reliable connections";
  return std::nullopt;
}

std::vector<const RdmaAddressFacts*> addresses_of(const RdmaFacts& facts, const RdmaDeviceFacts& device,
                                                  const RdmaPortFacts& port) {
  std::vector<const RdmaAddressFacts*> found;
  for (const RdmaAddressFacts& address : facts.addresses) {
    if (address.device == device.name && address.port == port.number) found.push_back(&address);
  }
  return found;
}

std::string port_name(const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  return RdmaPort::name_of(device.name, port.number);
}

std::optional<std::string> state_problem(const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  if (port.state == "DOWN") return port_name(device, port) + " is down";
  // A subnet manager takes an InfiniBand port from INIT to ACTIVE.
  if (port.state != "ACTIVE") {
    return fmt::format("{} is in state {}{}", port_name(device, port), port.state,
                       port.link == LinkKind::infiniband ? ", waiting for a subnet manager" : "");
  }
  return std::nullopt;
}

// Says what keeps librdmacm from using it.
std::optional<std::string> port_problem(const RdmaFacts& facts, const RdmaDeviceFacts& device,
                                        const RdmaPortFacts& port) {
  if (auto problem = state_problem(device, port)) return problem;
  if (facts.cm_error != 0) return cm_problem(facts.cm_error);
  if (addresses_of(facts, device, port).empty()) {
    return (device.ports.size() > 1 ? port_name(device, port) : device.name) + " has no IP address";
  }
  return std::nullopt;
}

// Returns it without an address.
RdmaPort usable_port(const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  RdmaPort usable;
  usable.device = device.name;
  usable.port = port.number;
  usable.link = port.link;
  usable.megabits = port.megabits;
  usable.mtu_bytes = port.mtu_bytes;
  usable.work_requests_max = device.work_requests_max;
  usable.memory_region_bytes_max = device.memory_region_bytes_max;
  return usable;
}

void add_addresses(const RdmaFacts& facts, const RdmaDeviceFacts& device, const RdmaPortFacts& port,
                   std::vector<RdmaPort>& usable) {
  for (const RdmaAddressFacts* address : addresses_of(facts, device, port)) {
    RdmaPort& one = usable.emplace_back(usable_port(device, port));
    one.interface = address->interface;
    one.host = address->host;
    one.prefix_bits = address->prefix_bits;
    one.gid = address->gid;
  }
}

// Without librdmacm both ends must have the same version of RoCE, so version 1 counts only where there is no
// other. An InfiniBand port's first GID is its own, in its subnet (64 bits); iWARP has no such way.
void add_gids(const RdmaDeviceFacts& device, const RdmaPortFacts& port, std::vector<RdmaPort>& usable) {
  constexpr std::size_t kGidsMax = 4;
  constexpr std::uint8_t kSubnetBits = 64;
  if (port.link == LinkKind::iwarp) return;
  const bool infiniband = port.link == LinkKind::infiniband;
  const bool routable = std::ranges::any_of(port.gid_table, &RdmaGidFacts::routable);
  std::size_t added = 0;
  for (const RdmaGidFacts& gid : port.gid_table) {
    if (added == (infiniband ? 1 : kGidsMax)) return;
    if (gid.routable != routable) continue;
    RdmaPort& one = usable.emplace_back(usable_port(device, port));
    one.interface = gid.interface;
    one.gid = gid.gid;
    one.prefix_bits = infiniband ? kSubnetBits : gid.prefix_bits;
    ++added;
  }
}

bool is_link_local(const RdmaPort& port) {
  const std::string address = port.address();
  return address.starts_with("fe80:") || address.starts_with("169.254.");
}

// Keeps the line readable on a host with many ports that are all down.
std::string joined(std::vector<std::string> problems) {
  constexpr std::size_t kNamedMax = 4;
  std::string text;
  std::vector<std::string> told;
  for (std::string& problem : problems) {
    if (std::ranges::find(told, problem) == told.end()) told.push_back(std::move(problem));
  }
  for (std::size_t i = 0; i < std::min(told.size(), kNamedMax); ++i) {
    text += (i == 0 ? "" : "; ") + told[i];
  }
  if (told.size() > kNamedMax) text += fmt::format("; and {} more", told.size() - kNamedMax);
  return text;
}

}  // namespace

std::string short_gid(const std::string& gid) {
  in6_addr bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_pton(AF_INET6, gid.c_str(), &bytes) != 1) return gid;
  return ::inet_ntop(AF_INET6, &bytes, text.data(), text.size());
}

std::string address_in(const std::string& gid) {
  constexpr std::string_view kMapped = "::ffff:";
  std::string address = short_gid(gid);
  const bool mapped = address.starts_with(kMapped) && address.find('.') != std::string::npos;
  return mapped ? address.substr(kMapped.size()) : address;
}

std::string_view describe(LinkKind kind) {
  switch (kind) {
    case LinkKind::infiniband:
      return "InfiniBand";
    case LinkKind::roce:
      return "RoCE";
    case LinkKind::iwarp:
      return "iWARP";
  }
  return "unknown link";
}

std::string RdmaPort::text() const {
  std::string text = fmt::format("{}, {}", name(), describe(link));
  if (megabits != 0) text += fmt::format(", {:g} Gb/s", megabits / 1000.0);
  if (!gid.empty()) text += ", GID " + short_gid(gid);
  if (by_hand()) return text + ", without rdma_cm";
  return text + fmt::format(", {} on {}", host, interface);
}

std::string RdmaPort::address() const {
  return by_hand() ? address_in(gid) : host;
}

RdmaPorts usable_ports(const RdmaFacts& facts) {
  if (facts.devices.empty()) return {{}, "no RDMA device"};
  RdmaPorts ports;
  std::vector<std::string> problems;
  for (const RdmaDeviceFacts& device : facts.devices) {
    if (auto problem = device_problem(facts, device)) problems.push_back(std::move(*problem));
    for (const RdmaPortFacts& port : device.ports) {
      auto problem = port_problem(facts, device, port);
      if (problem) problems.push_back(std::move(*problem));
      if (state_problem(device, port) || !device.connects) continue;
      if (!problem) add_addresses(facts, device, port, ports.usable);
      add_gids(device, port, ports.usable);
    }
  }
  std::ranges::stable_sort(ports.usable, {}, [](const RdmaPort& port) {
    return std::tuple(-static_cast<std::int64_t>(port.megabits), port.by_hand(), is_link_local(port));
  });
  const bool only_by_hand = std::ranges::all_of(ports.usable, &RdmaPort::by_hand);
  if (only_by_hand) ports.none_because = joined(std::move(problems));
  // A device that was removed while it was queried has no ports.
  if (ports.usable.empty() && ports.none_because.empty()) ports.none_because = "no RDMA device has a port";
  return ports;
}

std::string interface_of(const std::string& via, const RdmaPorts& ports) {
  const auto port = std::ranges::find(ports.usable, via, &RdmaPort::device);
  return port == ports.usable.end() ? via : port->interface;
}

RdmaPorts own_rdma_ports() {
  return usable_ports(rdma_facts());
}

}  // namespace rdcp::net
