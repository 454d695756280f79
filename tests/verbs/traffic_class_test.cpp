// The traffic class that a connection is asked for with (rdma_set_option(3)).
#include <gtest/gtest.h>

#include "net/rdma/rdma_connection.h"
#include "tests/verbs/objects.h"
#include "tests/verbs/one_copy.h"

namespace rdcp::made_up {
namespace {

class TrafficClass : public DevicesTest {
 protected:
  void SetUp() override { set({with_address(make_device(Model::connectx7, "one"), "rail0", "10.77.0.1")}); }
  // Returns what the connecting end was given for this class, and complains about what the other end was.
  static std::vector<std::byte> given_for(net::TrafficClass traffic_class) {
    net::RdmaJob job;
    job.traffic_class = traffic_class;
    const net::RdmaPair pair = net::make_rdma_pair(net::own_rdma_ports().usable.at(0), job);
    EXPECT_TRUE(option_of(*pair.target.at(0)).empty()) << "it comes with the request";
    return option_of(*pair.source.at(0));
  }

 private:
  static std::vector<std::byte> option_of(net::RdmaConnection& end) {
    const auto& options = static_cast<IdObject&>(end.id()).options;
    const auto found = options.find(RDMA_OPTION_ID_TOS);
    return found == options.end() ? std::vector<std::byte>() : found->second;
  }
};

TEST_F(TrafficClass, TheSideThatConnectsAsksForIt) {
  EXPECT_EQ(given_for(106), std::vector{std::byte{106}});
  EXPECT_EQ(given_for(0), std::vector{std::byte{0}}) << "that is one, too";
}

TEST_F(TrafficClass, WithoutOneItIsTheHosts) {
  EXPECT_TRUE(given_for(std::nullopt).empty());
}

}  // namespace
}  // namespace rdcp::made_up
