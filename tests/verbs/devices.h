// Made-up RDMA devices with the attributes of real ones, so that what rdcp makes of them can be tested on a
// machine that has none.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rdcp::made_up {

// The codes are those of ibv_port_attr's active_speed and active_width; XDR is only in sysfs (the kernel
// reports NDR where the field has no room, include/uapi/rdma/ib_user_verbs.h).
enum class Speed : std::uint16_t { qdr = 4, edr = 32, hdr = 64, ndr = 128, xdr = 256 };
enum class Width : std::uint8_t { one = 1, four = 2, eight = 4, two = 16 };

struct IpAddress {
  std::string interface;
  std::string host;
  std::uint8_t prefix_bits = 24;
};

struct Port {
  std::uint8_t link_layer = IBV_LINK_LAYER_ETHERNET;
  ibv_port_state state = IBV_PORT_ACTIVE;
  Speed speed = Speed::edr;
  Width width = Width::four;
  ibv_mtu active_mtu = IBV_MTU_4096;
  ibv_mtu max_mtu = IBV_MTU_4096;
  std::vector<IpAddress> addresses;
  std::vector<std::uint16_t> partitions = {0xffff};  // keys; the highest bit says full member
};

struct Device {
  std::string name;
  ibv_transport_type transport = IBV_TRANSPORT_IB;
  ibv_device_attr attributes{};
  std::uint32_t inline_bytes_max = 0;  // a queue pair that asks for more is refused (EINVAL)
  int completion_vectors = 8;
  std::vector<Port> ports;
  // Files of the made-up sysfs beneath /sys/class/infiniband/NAME, such as "device/max_link_width".
  std::map<std::string, std::string> files;
};

enum class Model { connectx7, connectx8, bnxt_re, irdma, efa, iwarp };

// Returns a device of this model with `ports` ports, which have no addresses.
Device make_device(Model model, const std::string& name, std::size_t ports = 1);
// Returns a device with one port at this address; IPv6 addresses have 64 bits of network.
Device with_address(Device device, const std::string& interface, const std::string& host,
                    std::size_t port = 0);
std::uint32_t gigabits_of(const Port& port);

}  // namespace rdcp::made_up
