#include "tests/verbs/devices.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace rdcp::made_up {
namespace {

struct Limits {
  ibv_transport_type transport;
  int queue_requests, sges, completions;
  std::uint64_t region_bytes;
  ibv_atomic_cap atomics;
  std::uint32_t inline_bytes;
  std::uint8_t link_layer;
  Speed speed;
  const char* pcie_speed;
  const char* pcie_width;
};

// The limits are those that `ibv_devinfo -v` prints for such devices (those of mlx5 and irdma as people show
// them in issues of UCX, libfabric and 3FS; those of bnxt_re and efa by the kernel's drivers). No verb tells
// the inline size; it is mlx5's for an RC queue pair, BNXT_QPLIB_SWQE_MAX_INLINE_LENGTH,
// IRDMA_MAX_INLINE_DATA_SIZE and efa's inline_buf_size.
Limits limits_of(Model model) {
  constexpr std::uint64_t kAny = ~std::uint64_t{0};
  constexpr std::uint8_t kEthernet = IBV_LINK_LAYER_ETHERNET;
  switch (model) {
    case Model::connectx7:
      return {IBV_TRANSPORT_IB, 32768, 30, 4194303, kAny, IBV_ATOMIC_HCA, 988, kEthernet, Speed::ndr,
              "32.0 GT/s PCIe", "16"};
    case Model::connectx8:
      return {IBV_TRANSPORT_IB,
              32768,
              30,
              4194303,
              kAny,
              IBV_ATOMIC_HCA,
              988,
              IBV_LINK_LAYER_INFINIBAND,
              Speed::xdr,
              "64.0 GT/s PCIe",
              "16"};
    case Model::bnxt_re:
      return {IBV_TRANSPORT_IB,
              65407,
              6,
              8388607,
              std::uint64_t{1} << 39,
              IBV_ATOMIC_NONE,
              96,
              kEthernet,
              Speed::hdr,
              "16.0 GT/s PCIe",
              "16"};
    case Model::irdma:
      return {IBV_TRANSPORT_IB,
              8127,
              13,
              1048574,
              std::uint64_t{1} << 45,
              IBV_ATOMIC_NONE,
              101,
              kEthernet,
              Speed::edr,
              "16.0 GT/s PCIe",
              "16"};
    case Model::efa:
      return {IBV_TRANSPORT_UNSPECIFIED,
              4096,
              2,
              32768,
              kAny,
              IBV_ATOMIC_NONE,
              32,
              IBV_LINK_LAYER_UNSPECIFIED,
              Speed::edr,
              "16.0 GT/s PCIe",
              "8"};
    case Model::iwarp:
      break;
  }
  return {
      IBV_TRANSPORT_IWARP, 1024, 4, 65536, std::uint64_t{1} << 32, IBV_ATOMIC_NONE, 48, kEthernet, Speed::qdr,
      "8.0 GT/s PCIe",     "8"};
}

std::pair<unsigned, const char*> lane_of(Speed speed) {
  switch (speed) {
    case Speed::qdr:
      return {10, "QDR"};
    case Speed::edr:
      return {25, "EDR"};
    case Speed::hdr:
      return {50, "HDR"};
    case Speed::ndr:
      return {100, "NDR"};
    case Speed::xdr:
      break;
  }
  return {200, "XDR"};
}

unsigned lanes_of(Width width) {
  switch (width) {
    case Width::one:
      return 1;
    case Width::two:
      return 2;
    case Width::four:
      return 4;
    case Width::eight:
      break;
  }
  return 8;
}

}  // namespace

std::uint32_t gigabits_of(const Port& port) {
  return lane_of(port.speed).first * lanes_of(port.width);
}

Device make_device(Model model, const std::string& name, std::size_t ports) {
  const Limits limits = limits_of(model);
  Device device;
  device.name = name;
  device.transport = limits.transport;
  device.inline_bytes_max = limits.inline_bytes;
  device.attributes.max_qp = 131072;
  device.attributes.max_qp_wr = limits.queue_requests;
  device.attributes.max_sge = limits.sges;
  device.attributes.max_sge_rd = limits.sges;
  device.attributes.max_cq = 65536;
  device.attributes.max_cqe = limits.completions;
  device.attributes.max_mr = 65536;
  device.attributes.max_pd = 65536;
  device.attributes.max_mr_size = limits.region_bytes;
  device.attributes.atomic_cap = limits.atomics;
  device.attributes.phys_port_cnt = static_cast<std::uint8_t>(ports);
  Port port;
  port.link_layer = limits.link_layer;
  port.speed = limits.speed;
  device.ports.assign(ports, port);
  device.files = {{"device/numa_node", "0"},
                  {"device/current_link_speed", limits.pcie_speed},
                  {"device/max_link_speed", limits.pcie_speed},
                  {"device/current_link_width", limits.pcie_width},
                  {"device/max_link_width", limits.pcie_width}};
  for (std::size_t i = 0; i < ports; ++i) {
    device.files[fmt::format("ports/{}/rate", i + 1)] = fmt::format(
        "{} Gb/sec ({}X {})", gigabits_of(port), lanes_of(port.width), lane_of(port.speed).second);
  }
  return device;
}

Device with_address(Device device, const std::string& interface, const std::string& host, std::size_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  device.ports.at(port).addresses.push_back({interface, host, static_cast<std::uint8_t>(v6 ? 64 : 24)});
  return device;
}

}  // namespace rdcp::made_up
