// What --doctor finds out about made-up adapters, from their files in sysfs and /proc/sys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/verbs/fabric.h"
#include "tests/verbs/one_copy.h"
#include "tree/doctor/adapter_facts.h"
#include "tree/doctor/examine.h"

namespace rdcp::made_up {
namespace {

using ::testing::HasSubstr;
using tree::Finding;
using tree::Level;

constexpr const char* kAllIgnore = "/proc/sys/net/ipv4/conf/all/arp_ignore";
constexpr const char* kAllFilter = "/proc/sys/net/ipv4/conf/all/arp_filter";

// Two ports in one subnet, as people set them up.
std::vector<Device> two_in_one_subnet() {
  Device first = with_address(make_device(Model::connectx7, "mlx5_0"), "rail0", "10.77.0.1");
  for (const char* file : {kAllIgnore, kAllFilter}) first.files[file] = "0";
  return {first, with_address(make_device(Model::connectx7, "mlx5_1"), "rail1", "10.77.0.2")};
}

TEST_F(DevicesTest, TheSlotIsReadFromSysfs) {
  Device device = with_address(make_device(Model::connectx7, "mlx5_0"), "rail0", "10.77.0.1");
  device.files["device/current_link_width"] = "4";
  device.files["device/current_link_speed"] = "8.0 GT/s PCIe";
  set({device, make_device(Model::efa, "rdmap0")});
  const auto adapters = tree::adapter_facts(net::rdma_facts());
  ASSERT_EQ(adapters.size(), 2u);
  EXPECT_EQ(adapters[0].device, "mlx5_0");
  EXPECT_EQ(adapters[0].link, (tree::PcieLink{8, 4}));
  EXPECT_EQ(adapters[0].most, (tree::PcieLink{32, 16}));
  EXPECT_EQ(adapters[1].link, adapters[1].most);
  tree::HostFacts facts;
  facts.rdma = net::rdma_facts();
  facts.adapters = adapters;
  std::vector<Finding> findings;
  tree::examine_adapters(facts, findings);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].level, Level::warning);
  EXPECT_THAT(findings[0].text, HasSubstr("PCIe 8 GT/s x4, 32 Gb/s, the adapter could 32 GT/s x16"));
  EXPECT_EQ(findings[1].level, Level::ok);
}

TEST_F(DevicesTest, TheBandwidthOfASlotLeavesOutItsCoding) {
  EXPECT_NEAR((tree::PcieLink{5, 8}).gigabits(), 32, 0.1);
  EXPECT_NEAR((tree::PcieLink{16, 16}).gigabits(), 252, 0.1);
  EXPECT_NEAR((tree::PcieLink{32, 16}).gigabits(), 504, 0.2);
}

TEST_F(DevicesTest, TwoPortsInOneSubnetAreFoundUnlessArpIsHeld) {
  set(two_in_one_subnet());
  const std::vector<tree::SharedSubnet> both = {{"rail0", "rail1", "10.77.0.0/24"}};
  EXPECT_EQ(tree::shared_subnets(net::rdma_facts()), both);
  fabric().put_file(kAllIgnore, "1");
  EXPECT_TRUE(tree::shared_subnets(net::rdma_facts()).empty());
  fabric().put_file(kAllIgnore, "0");
  fabric().put_file("/proc/sys/net/ipv4/conf/rail0/arp_filter", "1");
  EXPECT_EQ(tree::shared_subnets(net::rdma_facts()), both) << "the other one still answers";
  fabric().put_file("/proc/sys/net/ipv4/conf/rail1/arp_filter", "1");
  EXPECT_TRUE(tree::shared_subnets(net::rdma_facts()).empty());
}

TEST_F(DevicesTest, PortsInTwoSubnetsAreFine) {
  set({with_address(make_device(Model::connectx7, "mlx5_0"), "rail0", "10.77.0.1"),
       with_address(make_device(Model::connectx7, "mlx5_1"), "rail1", "10.78.0.1")});
  EXPECT_TRUE(tree::shared_subnets(net::rdma_facts()).empty());
}

// Each driver names its counters in its own way, for a port or for a device.
TEST_F(DevicesTest, CountersOfTheNetworkAreToldOnceTheyGrow) {
  Device mlx5 = make_device(Model::connectx7, "mlx5_0");
  for (const char* name : {"out_of_sequence", "rp_cnp_handled", "rx_write_requests"}) {
    mlx5.files[std::string("ports/1/hw_counters/") + name] = "100";
  }
  Device irdma = make_device(Model::irdma, "irdma0");
  irdma.files["hw_counters/cnpHandled"] = "7";
  set({mlx5, irdma});
  const tree::NetworkCounters before = tree::network_counters();
  EXPECT_EQ(tree::growth(before, tree::network_counters()), "");
  const std::string folder = "/sys/class/infiniband/";
  fabric().put_file(folder + "mlx5_0/ports/1/hw_counters/out_of_sequence", "112");
  fabric().put_file(folder + "mlx5_0/ports/1/hw_counters/rx_write_requests", "9000");
  fabric().put_file(folder + "irdma0/hw_counters/cnpHandled", "8");
  EXPECT_EQ(tree::growth(before, tree::network_counters()),
            "irdma0 cnpHandled 1, mlx5_0/1 out_of_sequence 12");
}

}  // namespace
}  // namespace rdcp::made_up
