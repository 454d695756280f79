// RDMA streams, as the suite of all streams has them (connected_stream_test.cpp), and their own words.
#include "net/rdma/rdma.h"
#include "tests/net/rdma/rdma_pair.h"
#include "tests/net/stream/connected_stream.h"

namespace rdcp::net {
namespace {

RecordLayer record_layer_of(const RdmaConnection& connection, Compression compression, bool source) {
  return RecordLayer::create(seal_of(connection), compression, source).value();
}

std::optional<ConnectedEnds> connect_rdma(WhichPort which, bool seals, Compression compression,
                                          const StreamShape& shape) {
  const auto port = find_port(which);
  if (!port) return std::nullopt;
  RdmaJob job;
  job.slots = shape.target_slots;
  job.seals = seals;
  const auto pair = std::make_shared<RdmaPair>(make_rdma_pair(*port, job));
  EXPECT_EQ(pair->source.size(), 1u);
  EXPECT_EQ(seal_of(*pair->source.at(0)).has_value(), seals);
  return ConnectedEnds{
      [=](io::Ring& ring, io::Arena& arena) {
        RecordLayer record_layer = record_layer_of(*pair->source[0], compression, true);
        return make_rdma_source(ring, std::move(pair->source[0]), shape, arena, std::move(record_layer));
      },
      [=](io::Ring& ring, io::Arena& arena) {
        RecordLayer record_layer = record_layer_of(*pair->target[0], compression, false);
        return make_rdma_target(ring, std::move(pair->target[0]), shape, arena, std::move(record_layer));
      }};
}

ConnectedVariant variant(const std::string& name, WhichPort port, io::RingChoice ring, bool seals = false,
                         Compression compression = kCompressOff) {
  return {.name = name,
          .ring = ring,
          .connect = [=](const StreamShape& shape) { return connect_rdma(port, seals, compression, shape); },
          .missing = "no RDMA device"};
}

constexpr auto kUring = io::RingChoice::io_uring;
INSTANTIATE_TEST_SUITE_P(
    Streams, ConnectedStreamTest,
    testing::Values(variant("Ipv4IoUring", WhichPort::ipv4, kUring),
                    variant("Ipv4ThreadPool", WhichPort::ipv4, io::RingChoice::thread_pool),
                    variant("Ipv6IoUring", WhichPort::ipv6, kUring),
                    variant("SecondDeviceIoUring", WhichPort::second_device, kUring),
                    variant("ByHandIoUring", WhichPort::by_hand, kUring),
                    variant("ByHandThreadPool", WhichPort::by_hand, io::RingChoice::thread_pool),
                    variant("ByHandIoUringSealed", WhichPort::by_hand, kUring, true),
                    variant("Ipv4IoUringSealed", WhichPort::ipv4, kUring, true),
                    variant("Ipv4IoUringSealedPacked", WhichPort::ipv4, kUring, true, 1),
                    variant("Ipv6IoUringPacked", WhichPort::ipv6, kUring, false, 1)),
    [](const auto& tested) { return tested.param.name; });

TEST(RdmaStream, SaysWhoTalksToWhomOverWhichDevice) {
  constexpr StreamShape kShape{.target_slots = 1, .slot_bytes = 4096};
  for (const WhichPort which :
       {WhichPort::ipv4, WhichPort::ipv6, WhichPort::second_device, WhichPort::by_hand}) {
    const auto port = find_port(which);
    if (!port && which == WhichPort::by_hand) continue;  // iWARP has no such way
    if (!port) GTEST_SKIP() << "no RDMA device";
    const auto ring = test_ring();
    io::Arena source_arena = io::Arena::create(1, kShape.slot_bytes).value();
    io::Arena arena = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
    const auto ends = connect_rdma(which, false, kCompressOff, kShape);
    const auto source = ends->source(*ring, source_arena);
    const auto target = ends->target(*ring, arena);
    const std::string text = source->description();
    EXPECT_EQ(text, target->description());
    EXPECT_EQ(text.find("rdma " + port->device + "/1 ("), 0u) << text;
    EXPECT_NE(text.find("GID " + port->gid), std::string::npos) << text;
    EXPECT_NE(text.find(port->address() + " -> " + port->address()), std::string::npos) << text;
  }
}

TEST(RdmaStream, CarriesNoMoreThanItsLinkDoes) {
  constexpr StreamShape kShape{.target_slots = 1, .slot_bytes = 4096};
  const auto port = find_port(WhichPort::ipv4);
  if (!port) GTEST_SKIP() << "no RDMA device";
  const double of_link = port->megabits * 1e6 / 8;
  for (const bool seals : {false, true}) {
    const auto ring = test_ring();
    io::Arena arena = io::Arena::create(1, kShape.slot_bytes).value();
    const auto ends = connect_rdma(WhichPort::ipv4, seals, kCompressOff, kShape);
    const auto source = ends->source(*ring, arena);
    EXPECT_EQ(source->rate_max(), seals ? std::min(of_link, 1e9) : of_link);
  }
}

}  // namespace
}  // namespace rdcp::net
