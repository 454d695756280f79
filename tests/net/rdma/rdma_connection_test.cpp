#include "net/rdma/rdma_connection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

std::vector<std::byte> message(std::size_t bytes, std::size_t zeros) {
  std::vector<std::byte> made(bytes, std::byte{'m'});
  made.resize(bytes + zeros);
  return made;
}

TEST(RdmaConnection, PaddingIsTakenOff) {
  EXPECT_EQ(without_padding(message(40, 4056), 40).size(), 40u);
  EXPECT_EQ(without_padding(message(40, 1), 40).size(), 40u);
}

TEST(RdmaConnection, WhatIsNoPaddingStays) {
  EXPECT_EQ(without_padding(message(40, 0), 40).size(), 40u);
  EXPECT_EQ(without_padding(message(39, 0), 40).size(), 39u);
  EXPECT_EQ(without_padding(message(41, 0), 40).size(), 41u);
  EXPECT_EQ(without_padding(message(41, 100), 40).size(), 141u);
  EXPECT_EQ(without_padding({}, 40).size(), 0u);
}

TEST(RdmaConnection, SaysThatItTakesPaddedMessagesAndWhichStreamItMakes) {
  const auto word = encode(CmWord{.takes_padding = true, .stream = 0x1234});
  const rdma_conn_param parameters = connection_parameters(word);
  ASSERT_EQ(parameters.private_data_len, 8);
  EXPECT_EQ(std::memcmp(parameters.private_data, "RDP1\x34\x12\0\0", 8), 0);
  EXPECT_TRUE(decode_cm_word(word).takes_padding);
  EXPECT_EQ(decode_cm_word(word).stream, 0x1234);
}

TEST(RdmaConnection, TakesNothingFromOtherPrivateData) {
  std::array<std::byte, kCmWordBytes> other{};
  EXPECT_FALSE(decode_cm_word(other).takes_padding);
  other = encode(CmWord{.takes_padding = true, .stream = 7});
  other[3] = std::byte{'2'};
  EXPECT_FALSE(decode_cm_word(other).takes_padding);
  EXPECT_EQ(decode_cm_word(other).stream, 0);
}

TEST(RdmaConnection, APacketIsSentAgainSoonButNotBeforeItsAcknowledgementCanCome) {
  using std::chrono::microseconds;
  EXPECT_EQ(ack_timeout(microseconds(0)), 15);  // 134 ms
  EXPECT_EQ(ack_timeout(microseconds(33'000)), 15);
  EXPECT_EQ(ack_timeout(microseconds(34'000)), 16);
  EXPECT_EQ(ack_timeout(microseconds(68'000)), 17);  // 537 ms
  EXPECT_EQ(ack_timeout(microseconds(60'000'000)), 17) << "a dead path is to show";
}

TEST(RdmaConnection, ALostFullPacketIsToldWithItsSizeAndWhatToDo) {
  const std::string cause = cause_of(full_packet_error(4096, "there"));
  EXPECT_EQ(
      cause,
      "small packets arrive there, full ones (of 4096 bytes, the path's MTU) do not: set the same MTU on "
      "both hosts, and on the switches between them");
}

}  // namespace
}  // namespace rdcp::net
