// TCP streams, as the suite of all streams has them (connected_stream_test.cpp), and their own words.
#include "net/stream/memory_stream.h"
#include "net/tcp/tcp.h"
#include "tests/net/crypto/seal_fixture.h"
#include "tests/net/stream/connected_stream.h"
#include "tests/net/tcp/tcp_pair.h"

namespace rdcp::net {
namespace {

template <class Pair>
std::optional<ConnectedEnds> connect_by(const StreamShape& shape) {
  const auto pair = std::make_shared<Pair>();
  return ConnectedEnds{[pair, shape](io::Ring& ring, io::Arena&) {
                         return make_tcp_source(ring, std::move(pair->source), shape);
                       },
                       [pair, shape](io::Ring& ring, io::Arena& arena) {
                         return make_tcp_target(ring, std::move(pair->target), shape, arena);
                       }};
}

std::optional<ConnectedEnds> connect_memory(const StreamShape& shape) {
  const auto channel = make_memory_channel();
  return ConnectedEnds{
      [channel, shape](io::Ring& ring, io::Arena&) { return make_memory_source(ring, channel, shape); },
      [channel, shape](io::Ring& ring, io::Arena& arena) {
        return make_memory_target(ring, channel, shape, arena);
      }};
}

const ConnectedVariant kVariants[] = {
    {.name = "TcpIoUring", .ring = io::RingChoice::io_uring, .connect = connect_by<TcpPair>},
    {.name = "TcpThreadPool", .ring = io::RingChoice::thread_pool, .connect = connect_by<TcpPair>},
    {.name = "WithinHost", .ring = io::RingChoice::io_uring, .connect = connect_by<UnixPair>},
    {.name = "Memory", .ring = io::RingChoice::io_uring, .connect = connect_memory},
};
INSTANTIATE_TEST_SUITE_P(Streams, ConnectedStreamTest, testing::ValuesIn(kVariants),
                         [](const auto& tested) { return tested.param.name; });

TEST(TcpStream, SaysWhoTalksToWhom) {
  constexpr StreamShape kShape{.target_slots = 1, .slot_bytes = 4096};
  const auto ring = test_ring();
  io::Arena arena = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
  const auto ends = connect_by<TcpPair>(kShape);
  const auto source = ends->source(*ring, arena);
  const auto target = ends->target(*ring, arena);
  const std::string text = source->description();
  EXPECT_EQ(text, target->description());
  EXPECT_EQ(text.find("tcp 127.0.0.1:"), 0u) << text;
  EXPECT_NE(text.find(" -> 127.0.0.1:"), std::string::npos) << text;
  const auto within = connect_by<UnixPair>(kShape);
  EXPECT_EQ(within->source(*ring, arena)->description(), "unix socket to a process of this host");
}

TEST(TcpStream, SaysWhatItCarriesAtMost) {
  constexpr StreamShape kShape{.target_slots = 1, .slot_bytes = 4096};
  const auto ring = test_ring();
  io::Arena arena = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
  const auto ends = connect_by<TcpPair>(kShape);
  const auto of_path = ends->source(*ring, arena)->rate_max();
  ASSERT_TRUE(of_path);  // its round trip is known from the connection's own setting up
  EXPECT_GT(*of_path, 2.5e6 / 10) << "a round trip of more than 10 s";
  EXPECT_FALSE(connect_by<UnixPair>(kShape)->source(*ring, arena)->rate_max()) << "it has no round trips";
}

TEST(TcpStream, CarriesLessWhereEachByteIsWorkedOn) {
  constexpr StreamShape kShape{.target_slots = 1, .slot_bytes = 4096};
  const auto ring = test_ring();
  const std::optional<SealKeys> keys = test_keys(Cipher::aes_256_gcm, true);
  for (const auto& [seal, compression] : {std::pair(keys, kCompressOff), {std::nullopt, kCompressAuto}}) {
    UnixPair ends;
    auto layer = RecordLayer::create(seal, compression, true).value();
    const auto source = make_tcp_source(*ring, std::move(ends.source), kShape, std::move(layer));
    EXPECT_EQ(source->rate_max(), 1e9) << seal.has_value();
  }
}

}  // namespace
}  // namespace rdcp::net
