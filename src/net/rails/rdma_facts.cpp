#include "net/rails/rdma_facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "io/fd.h"
#include "net/rails/verbs.h"
#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

using InterfaceList = std::unique_ptr<ifaddrs, DestroyWith<::freeifaddrs>>;

constexpr const char* kClass = "/sys/class/infiniband";

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  auto each = std::filesystem::directory_iterator(directory, error);
  for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
    names.push_back(each->path().filename());
  }
  std::ranges::sort(names);
  return names;
}

std::string state_name(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_INIT:
      return "INIT";
    case IBV_PORT_ARMED:
      return "ARMED";
    case IBV_PORT_ACTIVE:
    case IBV_PORT_ACTIVE_DEFER:
      return "ACTIVE";
    default:
      return "DOWN";
  }
}

// Names from PortPhysicalState in the InfiniBand specification; the kernel gives Ethernet's states the same
// numbers.
std::string physical_state_name(std::uint8_t state) {
  constexpr std::array kNames = {
      "", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery"};
  return state < kNames.size() ? kNames[state] : "";
}

std::uint32_t mtu_bytes(ibv_mtu mtu) {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << static_cast<unsigned>(mtu) : 0;
}

LinkKind kind_of(const ibv_device& device, const ibv_port_attr& port) {
  if (device.transport_type == IBV_TRANSPORT_IWARP) return LinkKind::iwarp;
  return port.link_layer == IBV_LINK_LAYER_ETHERNET ? LinkKind::roce : LinkKind::infiniband;
}

// Reads, for example, "200 Gb/sec (4X HDR)". Only sysfs says XDR, because libibverbs' field of the speed ends
// at NDR.
std::uint32_t sysfs_megabits(const std::string& device, unsigned port) {
  std::ifstream file(fmt::format("{}/{}/ports/{}/rate", kClass, device, port));
  double gigabits = 0;
  return file >> gigabits ? static_cast<std::uint32_t>(gigabits * 1000) : 0;
}

void add_gids(ibv_context& context, std::vector<RdmaPortFacts>& ports) {
  for (const ibv_gid_entry& entry : gids_of(context)) {
    const auto owner = std::ranges::find(ports, entry.port_num, &RdmaPortFacts::number);
    if (owner == ports.end()) continue;
    RdmaPortFacts& port = *owner;
    // RoCE lists each GID twice, for version 1 and version 2.
    std::string gid = gid_text(entry.gid);
    if (gid.empty()) continue;
    if (std::ranges::find(port.gids, gid) == port.gids.end()) port.gids.push_back(gid);
    std::array<char, IF_NAMESIZE> name{};
    const bool named =
        entry.ndev_ifindex != 0 && ::if_indextoname(entry.ndev_ifindex, name.data()) != nullptr;
    port.gid_table.push_back({.gid = std::move(gid),
                              .routable = entry.gid_type == IBV_GID_TYPE_ROCE_V2,
                              .interface = name.data()});
    if (!named) continue;
    if (std::ranges::find(port.interfaces, name.data()) == port.interfaces.end()) {
      port.interfaces.emplace_back(name.data());
    }
  }
}

RdmaPortFacts port_facts(const ibv_context& context, std::uint8_t number, const ibv_port_attr& attributes) {
  RdmaPortFacts port;
  port.number = number;
  port.link = kind_of(*context.device, attributes);
  port.state = state_name(attributes.state);
  port.physical_state = physical_state_name(attributes.phys_state);
  port.megabits = std::max(link_megabits(attributes.active_speed, attributes.active_width),
                           sysfs_megabits(context.device->name, number));
  port.mtu_bytes = mtu_bytes(attributes.active_mtu);
  port.mtu_bytes_max = mtu_bytes(attributes.max_mtu);
  port.default_tos = default_tos(context.device->name, number);
  return port;
}

void ask_device(ibv_context& context, RdmaDeviceFacts& device) {
  ibv_device_attr limits{};
  if (::ibv_query_device(&context, &limits) != 0) return;
  device.work_requests_max = static_cast<std::uint32_t>(std::max(limits.max_qp_wr, 0));
  device.memory_region_bytes_max = limits.max_mr_size;
  device.completion_vectors = static_cast<unsigned>(std::max(context.num_comp_vectors, 1));
  for (unsigned number = 1; number <= limits.phys_port_cnt; ++number) {
    const auto port_number = static_cast<std::uint8_t>(number);
    ibv_port_attr attributes{};
    if (::ibv_query_port(&context, port_number, &attributes) != 0) continue;
    device.ports.push_back(port_facts(context, port_number, attributes));
  }
  add_gids(context, device.ports);
}

// Returns the errno for a node that could not be opened. When their first try is refused, the libraries look
// in other places, so their errno says ENOENT although permission is missing.
int open_error(const std::string& node, int reported) {
  const io::Fd fd(::open(node.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) return errno;
  return reported != 0 ? reported : ENODEV;
}

RdmaDeviceFacts device_facts(const std::string& name, ibv_device* const* offered, int count) {
  RdmaDeviceFacts facts;
  facts.name = name;
  const auto found = std::find_if(offered, offered + count,
                                  [&name](const ibv_device* device) { return name == device->name; });
  if (found == offered + count) return facts;
  ibv_device* device = *found;
  facts.node = std::string("/dev/infiniband/") + device->dev_name;
  facts.connects =
      device->transport_type == IBV_TRANSPORT_IB || device->transport_type == IBV_TRANSPORT_IWARP;
  const DeviceContext context(::ibv_open_device(device));
  if (context) {
    ask_device(*context, facts);
  } else {
    facts.open_error = open_error(facts.node, errno);
  }
  return facts;
}

// Returns the name of the network interface of one of its ports; empty if it has none.
std::string interface_of(const RdmaDeviceFacts& device) {
  for (const RdmaPortFacts& port : device.ports) {
    if (!port.interfaces.empty()) return port.interfaces.front();
  }
  return {};
}

void add_devices(RdmaFacts& facts, const std::vector<std::string>& names) {
  stand_forks();
  facts.has_uverbs = std::filesystem::exists("/sys/class/infiniband_verbs");
  int count = 0;
  const DeviceList list(::ibv_get_device_list(&count));
  for (const std::string& name : names) {
    facts.devices.push_back(device_facts(name, list.get(), list ? count : 0));
    RdmaDeviceFacts& device = facts.devices.back();
    device.numa_node = numa_node_of(name, interface_of(device));
  }
}

std::uint8_t prefix_bits(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(mask);
  if (mask->sa_family == AF_INET) return static_cast<std::uint8_t>(std::popcount(v4->sin_addr.s_addr));
  int bits = 0;
  for (const std::uint8_t byte : reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr.s6_addr) {
    bits += std::popcount(byte);
  }
  return static_cast<std::uint8_t>(bits);
}

// Loopback addresses are left out, because the peer has the same ones.
bool is_of_use(const ifaddrs& each) {
  constexpr unsigned kUp = IFF_UP | IFF_RUNNING;
  if (each.ifa_addr == nullptr || (each.ifa_flags & (kUp | IFF_LOOPBACK)) != kUp) return false;
  return each.ifa_addr->sa_family == AF_INET || each.ifa_addr->sa_family == AF_INET6;
}

std::string host_of(const sockaddr& address) {
  SocketAddress copy;
  copy.length = address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(&copy.storage, &address, copy.length);
  return to_address(copy).host;
}

// Binding an id to an address makes librdmacm say which device and port that is. This works for IPoIB, RoCE
// and iWARP, also with VLANs and bonds (rdma_bind_addr(3)).
void add_address(RdmaFacts& facts, rdma_event_channel& channel, const ifaddrs& each) {
  rdma_cm_id* raw = nullptr;
  if (::rdma_create_id(&channel, &raw, nullptr, RDMA_PS_TCP) != 0) return;
  const CmId id(raw);
  if (::rdma_bind_addr(raw, each.ifa_addr) != 0 || raw->verbs == nullptr) return;
  RdmaAddressFacts address;
  address.interface = each.ifa_name;
  address.host = host_of(*each.ifa_addr);
  address.prefix_bits = prefix_bits(each.ifa_netmask);
  address.device = raw->verbs->device->name;
  address.port = raw->port_num;
  address.gid = gid_text(raw->route.addr.addr.ibaddr.sgid);
  facts.addresses.push_back(std::move(address));
}

void add_prefix(RdmaFacts& facts, const ifaddrs& each) {
  const std::string host = host_of(*each.ifa_addr);
  for (RdmaDeviceFacts& device : facts.devices) {
    for (RdmaPortFacts& port : device.ports) {
      for (RdmaGidFacts& gid : port.gid_table) {
        if (address_in(gid.gid) == host) gid.prefix_bits = prefix_bits(each.ifa_netmask);
      }
    }
  }
}

void add_addresses(RdmaFacts& facts) {
  // This makes the kernel load rdma_ucm if it can, so it comes before any look at the node.
  const EventChannel channel(::rdma_create_event_channel());
  if (!channel) facts.cm_error = open_error(kCmNode, errno);
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return;
  const InterfaceList list(raw);
  for (const ifaddrs* each = raw; each != nullptr; each = each->ifa_next) {
    if (!is_of_use(*each)) continue;
    add_prefix(facts, *each);
    if (channel) add_address(facts, *channel, *each);
  }
}

}  // namespace

// The folder of a device is there once somebody has made it (Documentation/ABI/testing/configfs-rdma_cm).
int default_tos(const std::string& device, unsigned port) {
  std::ifstream file(fmt::format("/sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_tos", device, port));
  int tos = -1;
  return file >> tos && tos >= 0 && tos <= 255 ? tos : -1;
}

std::uint32_t link_megabits(std::uint32_t speed_code, std::uint8_t width_code) {
  // The codes are enum ib_port_speed and ib_port_width of the kernel's include/rdma/ib_verbs.h. The rates of
  // a lane are those that the kernel uses for "rate" in sysfs.
  struct Code {
    std::uint32_t code, value;
  };
  constexpr std::array<Code, 9> kLaneMegabits = {{{1, 2500},         // SDR
                                                  {2, 5000},         // DDR
                                                  {4, 10'000},       // QDR
                                                  {8, 10'000},       // FDR10
                                                  {16, 14'000},      // FDR
                                                  {32, 25'000},      // EDR
                                                  {64, 50'000},      // HDR
                                                  {128, 100'000},    // NDR
                                                  {256, 200'000}}};  // XDR
  constexpr std::array<Code, 5> kLanes = {{{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}}};
  const auto value_of = [](const auto& codes, std::uint32_t code) {
    const auto found = std::ranges::find(codes, code, &Code::code);
    return found != codes.end() ? found->value : 0;
  };
  return value_of(kLaneMegabits, speed_code) * value_of(kLanes, width_code);
}

// The device of an interface may be on another one that alone has a node: virtio's are on PCI functions.
int numa_node_of(const std::string& device, const std::string& interface) {
  const std::string of_interface = "/sys/class/net/" + interface + "/device";
  for (const std::string& folder :
       {fmt::format("{}/{}/device", kClass, device), of_interface, of_interface + "/.."}) {
    std::ifstream file(folder + "/numa_node");
    int node = -1;
    if (file >> node && node >= 0) return node;
  }
  return -1;
}

RdmaFacts rdma_facts() {
  RdmaFacts facts;
  const std::vector<std::string> names = names_in(kClass);
  if (names.empty()) return facts;
  add_devices(facts, names);
  add_addresses(facts);
  return facts;
}

}  // namespace rdcp::net
