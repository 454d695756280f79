// What agents say to join queue pairs, with numbers that no device has.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tree/messages/knock.h"
#include "tree/protocol/codec.h"

namespace rdcp::tree {
namespace {

PairOffered sound() {
  PairOffered said;
  said.offer.device = "mlx5_0";
  said.offer.end = {
      .lid = 7, .queue_pair = 0xffffff, .first_packet = 0xffffff, .mtu = 5, .service_level = 15};
  said.offer.end.gid[15] = std::byte{1};
  return said;
}

// Returns whether a sound offer is decoded that has these bytes so far from its end.
bool decodes_with(std::size_t from_end, std::initializer_list<std::uint8_t> bytes) {
  PairOffered said = sound();
  std::string text = encode_fields(said);
  std::size_t at = text.size() - from_end;
  for (const std::uint8_t byte : bytes) text[at++] = static_cast<char>(byte);
  PairOffered decoded;
  return decode_fields(text, decoded);
}

TEST(PairMessages, AnEndArrivesAsItWasSent) {
  PairOffered said = sound(), decoded;
  ASSERT_TRUE(decode_fields(encode_fields(said), decoded));
  EXPECT_EQ(decoded.offer.end, said.offer.end);
  EXPECT_EQ(decoded.offer.device, "mlx5_0");
}

// The last fields are: queue pair (4 bytes), first packet (4), MTU (1), service level (1).
TEST(PairMessages, NumbersThatNoDeviceHasAreRefused) {
  EXPECT_TRUE(decodes_with(10, {2, 0, 0, 0}));
  EXPECT_FALSE(decodes_with(10, {0, 0, 0, 0}));
  EXPECT_FALSE(decodes_with(10, {1, 0, 0, 0})) << "a queue pair of InfiniBand itself";
  EXPECT_FALSE(decodes_with(10, {0, 0, 0, 1})) << "25 bits";
  EXPECT_TRUE(decodes_with(6, {0, 0, 0, 0}));
  EXPECT_FALSE(decodes_with(6, {0, 0, 0, 1}));
  for (const std::uint8_t mtu : {1, 5}) EXPECT_TRUE(decodes_with(2, {mtu})) << int{mtu};
  for (const std::uint8_t mtu : {0, 6, 255}) EXPECT_FALSE(decodes_with(2, {mtu})) << int{mtu};
  EXPECT_FALSE(decodes_with(1, {16}));
  EXPECT_FALSE(decodes_with(11, {2})) << "neither version 1 nor 2 of RoCE";
}

TEST(PairMessages, NoLinkHasANumberBeyondTheNextTargets) {
  PairOffered said = sound(), decoded;
  said.link = static_cast<std::uint32_t>(kNextTargetsMax);
  EXPECT_TRUE(decode_fields(encode_fields(said), decoded));
  said.link = static_cast<std::uint32_t>(kNextTargetsMax + 1);
  EXPECT_FALSE(decode_fields(encode_fields(said), decoded));
}

TEST(PairMessages, ARefusalCannotControlATerminal) {
  PairAnswered said, decoded;
  said.answer.refusal = "no\x1b[2J";
  ASSERT_TRUE(decode_fields(encode_fields(said), decoded));
  EXPECT_EQ(decoded.answer.refusal.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace rdcp::tree
