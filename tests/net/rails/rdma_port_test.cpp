#include "net/rails/rdma_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "net/rails/rdma_facts.h"

namespace rdcp::net {
namespace {

using ::testing::HasSubstr;

// A device as it should be: one active port with an address.
RdmaFacts one_device() {
  RdmaPortFacts port;
  port.state = "ACTIVE";
  port.megabits = 100'000;
  port.mtu_bytes = 4096;
  RdmaDeviceFacts device;
  device.name = "mlx5_0";
  device.node = "/dev/infiniband/uverbs0";
  device.work_requests_max = 32'768;
  device.memory_region_bytes_max = 1ULL << 40;
  device.ports = {port};
  RdmaAddressFacts address;
  address.interface = "eth0";
  address.host = "10.0.0.1";
  address.prefix_bits = 24;
  address.device = "mlx5_0";
  address.gid = "0000:0000:0000:0000:0000:ffff:0a00:0001";
  RdmaFacts facts;
  facts.devices = {device};
  facts.addresses = {address};
  return facts;
}

TEST(RdmaPort, TextIsWhatAPersonLooksFor) {
  const RdmaPort port{.device = "mlx5_0",
                      .link = LinkKind::infiniband,
                      .interface = "ib0",
                      .host = "10.0.0.1",
                      .gid = "fe80:0000:0000:0000:0000:0000:0000:0001",
                      .megabits = 200'000};
  EXPECT_EQ(port.text(), "mlx5_0/1, InfiniBand, 200 Gb/s, GID fe80::1, 10.0.0.1 on ib0");
}

TEST(RdmaPort, TextLeavesOutWhatIsNotKnown) {
  const RdmaPort port{
      .device = "siw0", .link = LinkKind::iwarp, .interface = "eth0", .host = "10.0.0.1", .gid = {}};
  EXPECT_EQ(port.text(), "siw0/1, iWARP, 10.0.0.1 on eth0");
  const RdmaPort slow{.device = "rxe0", .interface = "eth0", .host = "10.0.0.1", .gid = {}, .megabits = 2500};
  EXPECT_EQ(slow.text(), "rxe0/1, RoCE, 2.5 Gb/s, 10.0.0.1 on eth0");
}

TEST(LinkMegabits, IsLanesTimesRate) {
  EXPECT_EQ(link_megabits(1, 1), 2'500U);      // SDR x1, what Soft-RoCE says
  EXPECT_EQ(link_megabits(32, 2), 100'000U);   // EDR x4
  EXPECT_EQ(link_megabits(64, 2), 200'000U);   // HDR x4
  EXPECT_EQ(link_megabits(128, 2), 400'000U);  // NDR x4
  EXPECT_EQ(link_megabits(256, 2), 800'000U);  // XDR x4
  EXPECT_EQ(link_megabits(64, 16), 100'000U);  // HDR x2
  EXPECT_EQ(link_megabits(16, 8), 168'000U);   // FDR x12
  EXPECT_EQ(link_megabits(0, 2), 0U);
  EXPECT_EQ(link_megabits(32, 3), 0U);
}

RdmaFacts with_gids(LinkKind link = LinkKind::roce) {
  RdmaFacts facts = one_device();
  RdmaPortFacts& port = facts.devices[0].ports[0];
  port.link = link;
  port.gid_table = {
      {.gid = "fe80:0000:0000:0000:0000:0000:0000:0001", .interface = "eth0"},
      {.gid = "0000:0000:0000:0000:0000:ffff:0a00:0001", .interface = "eth0", .prefix_bits = 24},
      {.gid = "0000:0000:0000:0000:0000:ffff:0a00:0001",
       .routable = true,
       .interface = "eth0",
       .prefix_bits = 24}};
  return facts;
}

TEST(UsablePorts, WithoutCmAPortHasItsGidsOfRoceVersion2) {
  RdmaFacts facts = with_gids();
  facts.addresses.clear();
  facts.cm_error = EACCES;
  const RdmaPorts ports = usable_ports(facts);
  ASSERT_EQ(ports.usable.size(), 1U);
  EXPECT_TRUE(ports.usable[0].by_hand());
  EXPECT_EQ(ports.usable[0].address(), "10.0.0.1");
  EXPECT_EQ(ports.usable[0].prefix_bits, 24);
  EXPECT_EQ(ports.usable[0].text(), "mlx5_0/1, RoCE, 100 Gb/s, GID ::ffff:10.0.0.1, without rdma_cm");
  EXPECT_EQ(ports.none_because, "/dev/infiniband/rdma_cm: Permission denied");
}

TEST(UsablePorts, WithCmAPortTellsItsGidsBehindItsAddresses) {
  const RdmaPorts ports = usable_ports(with_gids());
  ASSERT_EQ(ports.usable.size(), 2U);
  EXPECT_EQ(ports.usable[0].host, "10.0.0.1");
  EXPECT_TRUE(ports.usable[1].by_hand());
  EXPECT_EQ(ports.none_because, "");
}

TEST(UsablePorts, AnInfiniBandPortWithoutAnAddressHasItsFirstGid) {
  RdmaFacts facts = with_gids(LinkKind::infiniband);
  facts.devices[0].ports[0].gid_table.pop_back();
  facts.addresses.clear();
  const RdmaPorts ports = usable_ports(facts);
  ASSERT_EQ(ports.usable.size(), 1U);
  EXPECT_EQ(ports.usable[0].address(), "fe80::1");
  EXPECT_EQ(ports.usable[0].prefix_bits, 64);
}

TEST(UsablePorts, IwarpAndPortsThatAreDownHaveNoWayWithoutCm) {
  RdmaFacts facts = with_gids(LinkKind::iwarp);
  EXPECT_EQ(usable_ports(facts).usable.size(), 1U);
  facts = with_gids();
  facts.devices[0].ports[0].state = "DOWN";
  EXPECT_TRUE(usable_ports(facts).usable.empty());
}

TEST(UsablePorts, AnActivePortWithAnAddressIsOne) {
  const RdmaPorts ports = usable_ports(one_device());
  ASSERT_EQ(ports.usable.size(), 1U);
  EXPECT_EQ(ports.none_because, "");
  const RdmaPort& port = ports.usable[0];
  EXPECT_EQ(port.text(), "mlx5_0/1, RoCE, 100 Gb/s, GID ::ffff:10.0.0.1, 10.0.0.1 on eth0");
  EXPECT_EQ(port.prefix_bits, 24);
  EXPECT_EQ(port.mtu_bytes, 4096U);
  EXPECT_EQ(port.work_requests_max, 32'768U);
  EXPECT_EQ(port.memory_region_bytes_max, 1ULL << 40);
  EXPECT_EQ(port.listen_port, 0);
}

TEST(UsablePorts, EachAddressIsOneFastestFirstLinkLocalLast) {
  RdmaFacts facts = one_device();
  facts.devices.push_back(facts.devices[0]);
  facts.devices[1].name = "mlx5_1";
  facts.devices[1].ports[0].megabits = 400'000;
  RdmaAddressFacts address = facts.addresses[0];
  facts.addresses.insert(facts.addresses.begin(), address);
  facts.addresses[0].host = "fe80::1%eth0";
  address.device = "mlx5_1";
  address.host = "10.0.1.1";
  facts.addresses.push_back(address);
  std::vector<std::string> hosts;
  for (const RdmaPort& port : usable_ports(facts).usable) hosts.push_back(port.host);
  EXPECT_EQ(hosts, (std::vector<std::string>{"10.0.1.1", "10.0.0.1", "fe80::1%eth0"}));
}

TEST(UsablePorts, NoDeviceIsNoDevice) {
  EXPECT_EQ(usable_ports({}).none_because, "no RDMA device");
}

TEST(UsablePorts, APortThatIsDownIsNamed) {
  RdmaFacts facts = one_device();
  facts.devices[0].ports[0].state = "DOWN";
  EXPECT_EQ(usable_ports(facts).none_because, "mlx5_0/1 is down");
  EXPECT_TRUE(usable_ports(facts).usable.empty());
}

TEST(UsablePorts, APortWithoutSubnetManagerIsNamed) {
  RdmaFacts facts = one_device();
  facts.devices[0].ports[0].state = "INIT";
  facts.devices[0].ports[0].link = LinkKind::infiniband;
  EXPECT_EQ(usable_ports(facts).none_because, "mlx5_0/1 is in state INIT, waiting for a subnet manager");
}

TEST(UsablePorts, ADeviceWithoutAddressIsNamed) {
  RdmaFacts facts = one_device();
  facts.addresses.clear();
  EXPECT_EQ(usable_ports(facts).none_because, "mlx5_0 has no IP address");
  facts.devices[0].ports.push_back(facts.devices[0].ports[0]);
  facts.devices[0].ports[1].number = 2;
  EXPECT_EQ(usable_ports(facts).none_because, "mlx5_0/1 has no IP address; mlx5_0/2 has no IP address");
}

TEST(UsablePorts, AnAddressOfAnotherPortDoesNotCount) {
  RdmaFacts facts = one_device();
  facts.addresses[0].port = 2;
  EXPECT_EQ(usable_ports(facts).none_because, "mlx5_0 has no IP address");
}

TEST(UsablePorts, NoPermissionIsSaidWithTheNode) {
  RdmaFacts facts = one_device();
  facts.devices[0].ports.clear();
  facts.devices[0].open_error = EACCES;
  EXPECT_EQ(usable_ports(facts).none_because, "mlx5_0, /dev/infiniband/uverbs0: Permission denied");
}

TEST(UsablePorts, WithoutTheConnectionManagerNothingIsUsable) {
  RdmaFacts facts = one_device();
  facts.addresses.clear();
  facts.cm_error = ENOENT;
  EXPECT_EQ(usable_ports(facts).none_because,
            "/dev/infiniband/rdma_cm: No such file or directory (module rdma_ucm is not loaded)");
  facts.cm_error = EACCES;
  EXPECT_EQ(usable_ports(facts).none_because, "/dev/infiniband/rdma_cm: Permission denied");
}

TEST(UsablePorts, ADeviceThatTheLibraryDoesNotOfferSaysWhatIsMissing) {
  RdmaFacts facts = one_device();
  facts.devices[0].node.clear();
  facts.devices[0].ports.clear();
  EXPECT_THAT(usable_ports(facts).none_because, HasSubstr("package ibverbs-providers"));
  facts.has_uverbs = false;
  EXPECT_THAT(usable_ports(facts).none_because, HasSubstr("module ib_uverbs is not loaded"));
}

TEST(UsablePorts, ADeviceWithoutReliableConnectionsIsNotUsable) {
  RdmaFacts facts = one_device();
  facts.devices[0].connects = false;
  EXPECT_EQ(usable_ports(facts).none_because, "mlx5_0 has no reliable connections");
}

TEST(UsablePorts, OneGoodPortIsEnough) {
  RdmaFacts facts = one_device();
  facts.devices.push_back(facts.devices[0]);
  facts.devices[1].name = "mlx5_1";
  facts.devices[1].ports[0].state = "DOWN";
  const RdmaPorts ports = usable_ports(facts);
  EXPECT_EQ(ports.usable.size(), 1U);
  EXPECT_EQ(ports.none_because, "");
}

TEST(UsablePorts, ManyProblemsStayOneLine) {
  RdmaFacts facts;
  for (int i = 0; i < 9; ++i) {
    facts.devices.push_back(one_device().devices[0]);
    facts.devices.back().name = "mlx5_" + std::to_string(i);
    facts.devices.back().ports[0].state = "DOWN";
  }
  EXPECT_EQ(usable_ports(facts).none_because,
            "mlx5_0/1 is down; mlx5_1/1 is down; mlx5_2/1 is down; mlx5_3/1 is down; and 5 "
            "more");
}

// On this machine, whatever it has.
TEST(OwnRdmaPorts, AreThereOrItSaysWhyNot) {
  const RdmaPorts ports = own_rdma_ports();
  EXPECT_NE(ports.usable.empty(), ports.none_because.empty());
  for (const RdmaPort& port : ports.usable) {
    EXPECT_TRUE(std::filesystem::exists("/sys/class/infiniband/" + port.device)) << port.text();
    EXPECT_TRUE(std::filesystem::exists("/sys/class/net/" + port.interface)) << port.text();
    EXPECT_NE(port.prefix_bits, 0) << port.text();
    EXPECT_NE(port.mtu_bytes, 0U) << port.text();
    EXPECT_NE(port.work_requests_max, 0U) << port.text();
  }
}

TEST(OwnRdmaPorts, WithoutDeviceTheReasonIsThat) {
  if (std::filesystem::exists("/sys/class/infiniband")) GTEST_SKIP() << "this machine has RDMA's modules";
  EXPECT_EQ(own_rdma_ports().none_because, "no RDMA device");
}

}  // namespace
}  // namespace rdcp::net
