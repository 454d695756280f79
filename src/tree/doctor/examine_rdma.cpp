// Judges RDMA: devices, ports, and what keeps us from using them.

#include <errno.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "tree/doctor/examine.h"

namespace rdcp::tree {
namespace {

using net::LinkKind;
using net::RdmaDeviceFacts;
using net::RdmaPortFacts;

// With Ethernet's usual MTU of 1500, a RoCE port uses 1024. From 2048 on, the headers of packets matter
// little.
constexpr std::uint32_t kMtuBytesWanted = 2048;

std::string listed(const std::vector<std::string>& words, std::size_t most) {
  const std::size_t shown = std::min(words.size(), most);
  std::string text = fmt::format("{}", fmt::join(words.begin(), std::next(words.begin(), shown), ", "));
  if (words.size() > shown) text += fmt::format(" and {} more", words.size() - shown);
  return text;
}

// Returns what to do about a node in /dev/infiniband that cannot be opened.
std::string node_advice(const std::string& node, int code, const char* module) {
  if (code == EACCES || code == EPERM) {
    return fmt::format("chmod a+rw {}; the package rdma-core has a udev rule that does so for good", node);
  }
  return fmt::format("modprobe {}; in a container, hand it in with --device {}", module, node);
}

std::vector<std::string> addresses_of(const HostFacts& facts, const RdmaDeviceFacts& device,
                                      const RdmaPortFacts& port) {
  std::vector<std::string> found;
  for (const net::RdmaAddressFacts& address : facts.rdma.addresses) {
    if (address.device == device.name && address.port == port.number) {
      found.push_back(address.host + " on " + address.interface);
    }
  }
  return found;
}

// Returns for example "ACTIVE, RoCE, 100 Gb/s, MTU 4096, GID fe80::1, 10.0.0.1 on eth0".
std::string port_text(const RdmaPortFacts& port, const std::vector<std::string>& addresses) {
  constexpr std::size_t kShownMax = 4;
  std::string text = port.state;
  if (port.state != "ACTIVE" && !port.physical_state.empty()) text += " (" + port.physical_state + ")";
  text += fmt::format(", {}", describe(port.link));
  if (port.megabits != 0) text += fmt::format(", {:g} Gb/s", port.megabits / 1000.0);
  if (port.mtu_bytes != 0 && port.link != LinkKind::iwarp) text += fmt::format(", MTU {}", port.mtu_bytes);
  if (port.link == LinkKind::roce && port.default_tos >= 0) {
    text += fmt::format(", default_roce_tos {} (DSCP {})", port.default_tos, port.default_tos / 4);
  }
  std::vector<std::string> gids;
  std::ranges::transform(port.gids, std::back_inserter(gids), net::short_gid);
  if (!gids.empty()) text += ", GID " + listed(gids, kShownMax);
  if (addresses.empty()) return text + (port.interfaces.empty() ? "" : ", " + listed(port.interfaces, 1));
  return text + ", " + listed(addresses, kShownMax);
}

// Returns the network interface, or a placeholder if it is unknown.
std::string interface_of(const RdmaPortFacts& port) {
  if (!port.interfaces.empty()) return port.interfaces.front();
  return port.link == LinkKind::infiniband ? "ib0" : "INTERFACE";
}

std::string advice_for_down(const RdmaPortFacts& port) {
  if (port.link == LinkKind::infiniband) {
    return "look at the cable and the switch's port, unless this port is meant to be unused";
  }
  return fmt::format("ip link set dev {} up; then look at the cable and the switch's port",
                     interface_of(port));
}

std::string advice_for_address(const RdmaPortFacts& port) {
  const std::string add = fmt::format("ip addr add ADDRESS/PREFIX dev {}", interface_of(port));
  return port.link == LinkKind::infiniband ? "modprobe ib_ipoib; " + add : add;
}

// True if connections to it, or to any port, can be made without librdmacm.
bool usable_by_hand(const HostFacts& facts, const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  return std::ranges::any_of(facts.ports.usable, [&](const net::RdmaPort& one) {
    return one.by_hand() && one.device == device.name && one.port == port.number;
  });
}

bool any_by_hand(const HostFacts& facts) {
  return std::ranges::any_of(facts.ports.usable, &net::RdmaPort::by_hand);
}

Finding judge_port(const HostFacts& facts, const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  const std::vector<std::string> addresses = addresses_of(facts, device, port);
  Finding finding{Level::ok, net::RdmaPort::name_of(device.name, port.number), port_text(port, addresses),
                  ""};
  // If another port can be used, this is only a warning, because unused second ports are common.
  const Level unusable = facts.ports.usable.empty() ? Level::problem : Level::warning;
  if (port.state == "DOWN") {
    finding.level = unusable;
    finding.advice = advice_for_down(port);
  } else if (port.state != "ACTIVE") {
    finding.level = unusable;
    finding.advice = port.link == LinkKind::infiniband
                         ? "the subnet has no subnet manager: start opensm on one host, or the switch's own"
                         : "wait until it is ACTIVE, and look at the link's other end";
  } else if (addresses.empty() && usable_by_hand(facts, device, port)) {
    finding.text += facts.rdma.cm_error == 0 ? ", no IP address: connections are made without rdma_cm"
                                             : ", connections are made without rdma_cm";
  } else if (addresses.empty() && facts.rdma.cm_error == 0) {
    finding.level = unusable;
    finding.text += ", no IP address";
    finding.advice = advice_for_address(port);
  } else if (port.link != LinkKind::iwarp && port.mtu_bytes != 0 && port.mtu_bytes < kMtuBytesWanted &&
             port.mtu_bytes < port.mtu_bytes_max) {
    finding.level = Level::warning;
    finding.advice =
        port.link == LinkKind::roce
            ? fmt::format("ip link set dev {} mtu 9000, on both hosts, and the same on the switch",
                          interface_of(port))
            : "let the subnet manager give the partition an MTU of 4096";
  }
  return finding;
}

// Streams take the vectors in turn (ibv_create_cq(3)), so a device with one has a single processor answer all
// of its interrupts.
std::string vectors_of(const RdmaDeviceFacts& device) {
  const unsigned vectors = device.completion_vectors;
  return vectors == 0 ? "" : fmt::format(", {} completion vector{}", vectors, vectors == 1 ? "" : "s");
}

void judge_device(const HostFacts& facts, const RdmaDeviceFacts& device, std::vector<Finding>& findings) {
  Finding finding{Level::problem, device.name, "", ""};
  if (device.node.empty() && !facts.rdma.has_uverbs) {
    finding.text = "module ib_uverbs is not loaded";
    finding.advice = "modprobe ib_uverbs";
  } else if (device.node.empty()) {
    finding.text = "libibverbs has no driver for it";
    finding.advice = "install the package ibverbs-providers";
  } else if (device.open_error != 0) {
    finding.text = fmt::format("{}: {}", device.node, ::strerrordesc_np(device.open_error));
    finding.advice = node_advice(device.node, device.open_error, "ib_uverbs");
  } else {
    finding.level = device.connects ? Level::ok : Level::warning;
    finding.text = device.connects ? device.node + " can be opened" + vectors_of(device)
                                   : "it has no reliable connections";
  }
  findings.push_back(std::move(finding));
  if (!device.connects) return;
  for (const RdmaPortFacts& port : device.ports) findings.push_back(judge_port(facts, device, port));
}

Finding judge_connection_manager(const HostFacts& facts) {
  const int code = facts.rdma.cm_error;
  if (code == 0) return {Level::ok, "rdma_ucm", fmt::format("{} can be opened", net::kCmNode), ""};
  if (any_by_hand(facts)) {
    return {
        Level::warning, "rdma_ucm",
        fmt::format("{}: {}: connections are made without it, which iWARP and older versions of rdcp cannot",
                    net::kCmNode, ::strerrordesc_np(code)),
        node_advice(net::kCmNode, code, "rdma_ucm")};
  }
  return {Level::problem, "rdma_ucm", fmt::format("{}: {}", net::kCmNode, ::strerrordesc_np(code)),
          node_advice(net::kCmNode, code, "rdma_ucm")};
}

Finding judge_whole(const HostFacts& facts) {
  if (facts.rdma.devices.empty()) return {Level::ok, "RDMA", "no RDMA device: TCP will be used", ""};
  if (facts.ports.usable.empty()) {
    return {Level::problem, "RDMA", "no port can be used: TCP will be used", "see below"};
  }
  std::vector<std::string> names;
  for (const net::RdmaPort& port : facts.ports.usable) {
    std::string name = port.name();
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return {Level::ok, "RDMA", "can be used: " + listed(names, names.size()), ""};
}

}  // namespace

void examine_rdma(const HostFacts& facts, std::vector<Finding>& findings) {
  findings.push_back(judge_whole(facts));
  for (const std::string& adapter : facts.idle_adapters) {
    findings.push_back({Level::warning, "PCI " + adapter, "an RDMA adapter without an RDMA driver",
                        "load its driver: modprobe mlx5_ib (ConnectX-4 and later), mlx4_ib, ..."});
  }
  if (facts.rdma.devices.empty()) return;
  findings.push_back(judge_connection_manager(facts));
  for (const RdmaDeviceFacts& device : facts.rdma.devices) judge_device(facts, device, findings);
}

}  // namespace rdcp::tree
