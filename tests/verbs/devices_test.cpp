// What rdcp makes of the attributes of each kind of device, and what it lays out over them.
#include "tests/verbs/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cli/layout/data_path.h"
#include "net/rails/rdma_facts.h"
#include "tests/verbs/fabric.h"
#include "tests/verbs/one_copy.h"

namespace rdcp::made_up {
namespace {

using net::LinkKind;
using ::testing::HasSubstr;

constexpr std::uint64_t kAny = ~std::uint64_t{0};

struct Expected {
  const char* name;
  Model model;
  LinkKind link;
  std::uint32_t megabits;
  std::uint32_t work_requests;
  std::uint64_t region_bytes;
  std::uint32_t inline_bytes;  // that a queue pair of rdcp's is granted
};

void PrintTo(const Expected& expected, std::ostream* out) {
  *out << expected.name;
}

class EachDevice : public DevicesTest, public testing::WithParamInterface<Expected> {
 protected:
  void SetUp() override { set({with_address(make_device(GetParam().model, "one"), "rail0", "10.77.0.1")}); }
};

TEST_P(EachDevice, IsAPortWithItsSpeedAndLimits) {
  const net::RdmaPorts ports = net::own_rdma_ports();
  const bool also_by_hand = GetParam().link != LinkKind::iwarp;
  ASSERT_EQ(ports.usable.size(), also_by_hand ? 2u : 1u) << ports.none_because;
  const net::RdmaPort& port = ports.usable[0];
  EXPECT_EQ(port.device, "one");
  EXPECT_EQ(port.interface, "rail0");
  EXPECT_EQ(port.host, "10.77.0.1");
  EXPECT_EQ(port.link, GetParam().link);
  EXPECT_EQ(port.megabits, GetParam().megabits);
  EXPECT_EQ(port.mtu_bytes, 4096u);
  EXPECT_EQ(port.work_requests_max, GetParam().work_requests);
  EXPECT_EQ(port.memory_region_bytes_max, GetParam().region_bytes);
}

TEST_P(EachDevice, CarriesAStream) {
  OneCopy copy(net::own_rdma_ports().usable.at(0));
  copy.run(20);
  EXPECT_EQ(copy.error(), "");
  EXPECT_EQ(copy.chunks_received(), 20u);
}

// One work request for a chunk's payload, one for its frame, one for each credit; nothing with more than one
// piece, so that even a device with a single one would do.
TEST_P(EachDevice, CarriesAChunkWithThreeWorkRequests) {
  OneCopy copy(net::own_rdma_ports().usable.at(0));
  const Fabric::Counts before = fabric().counts();
  copy.run(50);
  const Fabric::Counts after = fabric().counts();
  EXPECT_EQ(after.writes - before.writes, 50u);
  // The chunks, their credits, the target's region, one grant for each slot, and an end.
  EXPECT_EQ(after.sends - before.sends, 50u + 50u + 1u + OneCopy::kSlots + 1u);
  for (const Fabric::MadeQueuePair& made : fabric().queue_pairs()) {
    EXPECT_EQ(made.cap.max_send_sge, 1u);
    EXPECT_EQ(made.cap.max_recv_sge, 1u);
    EXPECT_LE(made.cap.max_send_wr, GetParam().work_requests);
  }
}

// A frame has 96 bytes, and 112 if it is sealed. Whatever fits is sent inline.
TEST_P(EachDevice, SendsInlineWhatItCan) {
  for (const bool seals : {false, true}) {
    OneCopy copy(net::own_rdma_ports().usable.at(0), OneCopy::kSlots, seals);
    const Fabric::Counts before = fabric().counts();
    copy.run(10);
    EXPECT_EQ(copy.error(), "");
    const Fabric::Counts after = fabric().counts();
    const bool fits = GetParam().inline_bytes >= (seals ? net::kSealedFrameBytes : net::kFrameBytes);
    // The region is the one message that is shorter: 32 bytes, and 48 if it is sealed.
    const std::uint64_t region_alone = GetParam().inline_bytes > 0 ? 1 : 0;
    EXPECT_EQ(after.inline_sends - before.inline_sends, fits ? after.sends - before.sends : region_alone)
        << seals;
  }
  for (const Fabric::MadeQueuePair& made : fabric().queue_pairs()) {
    EXPECT_EQ(made.cap.max_inline_data, GetParam().inline_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, EachDevice,
    testing::Values(
        Expected{"ConnectX7", Model::connectx7, LinkKind::roce, 400'000, 32768, kAny, 112},
        Expected{"ConnectX8", Model::connectx8, LinkKind::infiniband, 800'000, 32768, kAny, 112},
        Expected{"BnxtRe", Model::bnxt_re, LinkKind::roce, 200'000, 65407, std::uint64_t{1} << 39, 96},
        Expected{"Irdma", Model::irdma, LinkKind::roce, 100'000, 8127, std::uint64_t{1} << 45, 96},
        Expected{"Iwarp", Model::iwarp, LinkKind::iwarp, 40'000, 1024, std::uint64_t{1} << 32, 0}),
    [](const auto& tested) { return tested.param.name; });

// EFA's queue pairs are not RC, so rdcp leaves it to TCP, and says so.
TEST_F(DevicesTest, EfaIsLeftToTcp) {
  set({with_address(make_device(Model::efa, "rdmap0"), "eth0", "10.77.0.1")});
  const net::RdmaPorts ports = net::own_rdma_ports();
  EXPECT_TRUE(ports.usable.empty());
  EXPECT_EQ(ports.none_because, "rdmap0 has no reliable connections");
}

TEST_F(DevicesTest, WidthsAndSpeedsAreMultiplied) {
  Device device = make_device(Model::connectx7, "mlx5_0", 4);
  device.files.clear();  // so that the verb's codes tell
  const std::pair<Speed, Width> kinds[] = {{Speed::edr, Width::two},
                                           {Speed::ndr, Width::one},
                                           {Speed::hdr, Width::eight},
                                           {Speed::qdr, Width::four}};
  for (std::size_t i = 0; i < 4; ++i) {
    device.ports[i].speed = kinds[i].first;
    device.ports[i].width = kinds[i].second;
    device =
        with_address(std::move(device), "rail" + std::to_string(i), "10.77." + std::to_string(i) + ".1", i);
  }
  set({device});
  std::vector<std::uint32_t> speeds;
  for (const net::RdmaPort& port : net::own_rdma_ports().usable) {
    if (!port.by_hand()) speeds.push_back(port.megabits);
  }
  EXPECT_EQ(speeds, (std::vector<std::uint32_t>{400'000, 100'000, 50'000, 40'000}));
}

tree::Reach reach() {
  tree::Reach reach;
  reach.hosts = {"192.0.2.1"};
  reach.port = 1;
  reach.rdma = net::own_rdma_ports();
  for (net::RdmaPort& port : reach.rdma.usable) port.listen_port = 4791;
  reach.lockable_bytes = std::uint64_t{1} << 40;
  return reach;
}

cli::DataPath path_over_these(std::chrono::duration<double> round_trip = {}) {
  cli::DataPathWish wish;
  wish.cpus = 64;
  wish.chunk_bytes = 1 << 20;
  wish.round_trip = round_trip;
  auto path = cli::choose_data_path(wish, {"here", reach()}, {"there", reach()});
  EXPECT_TRUE(path) << path.error().message();
  return path ? *path : cli::DataPath();
}

TEST_F(DevicesTest, EightPortsOfOneHostAreEightRails) {
  std::vector<Device> devices;
  for (int i = 0; i < 8; ++i) {
    devices.push_back(with_address(make_device(Model::connectx8, "mlx5_" + std::to_string(i)),
                                   "ib" + std::to_string(i), "10.80." + std::to_string(i) + ".1"));
  }
  set(devices);
  const cli::DataPath path = path_over_these();
  const auto rails = net::best_rails(path.rails);
  ASSERT_EQ(rails.size(), 8u);
  EXPECT_GE(path.streams, 8u);
  for (const net::Rail& rail : rails) EXPECT_EQ(rail.connecting.megabits, 800'000u);
}

TEST_F(DevicesTest, EightPortsOfOneDeviceAreEightRails) {
  Device device = make_device(Model::connectx7, "mlx5_0", 8);
  for (std::size_t i = 0; i < 8; ++i) {
    device =
        with_address(std::move(device), "rail" + std::to_string(i), "10.81." + std::to_string(i) + ".1", i);
  }
  set({device});
  const cli::DataPath path = path_over_these();
  const auto rails = net::best_rails(path.rails);
  ASSERT_EQ(rails.size(), 8u);
  std::set<unsigned> ports;
  for (const net::Rail& rail : rails) ports.insert(rail.connecting.port);
  EXPECT_EQ(ports, (std::set<unsigned>{1, 2, 3, 4, 5, 6, 7, 8}));
}

// The slots that are laid out must fit the device that is to carry them, however long the path is.
TEST_F(DevicesTest, ManySlotsFitASmallQueue) {
  Device small = with_address(make_device(Model::iwarp, "siw0"), "rail0", "10.77.0.1");
  small.attributes.max_qp_wr = 40;
  set({small});
  const cli::DataPath path = path_over_these(std::chrono::seconds(1));
  ASSERT_FALSE(path.rails.empty());
  OneCopy copy(path.rails[0].connecting, path.slots);
  copy.run(100);
  EXPECT_EQ(copy.error(), "");
}

}  // namespace
}  // namespace rdcp::made_up
