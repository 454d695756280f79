#include "net/rails/rails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/net/rails/made_up_port.h"

namespace rdcp::net {
namespace {

using ::testing::HasSubstr;

RailChoice choose(std::vector<RdmaPort> connecting, std::vector<RdmaPort> listening,
                  const std::string& via = {}) {
  return choose_rails({std::move(connecting), {}}, {std::move(listening), {}}, via);
}

// "c0-l0 c1-l1": the devices of each rail.
std::string devices(const RailChoice& choice) {
  std::string text;
  for (const Rail& rail : best_rails(choice.candidates)) {
    text += (text.empty() ? "" : " ") + rail.connecting.device + "-" + rail.listening.device;
  }
  return text;
}

TEST(Rails, PortsInOneSubnetAreAPair) {
  const RailChoice choice = choose({port_of("c0", "10.0.0.1", 24), port_of("c1", "10.0.1.1", 24)},
                                   {port_of("l0", "10.0.1.2", 24), port_of("l1", "10.0.0.2", 24)});
  EXPECT_EQ(devices(choice), "c0-l1 c1-l0");
  EXPECT_EQ(choice.none_because, "");
  EXPECT_EQ(choice.candidates[0].listening.host, "10.0.0.2");
}

TEST(Rails, BothPrefixesMustAgree) {
  // To c0 all of 10/8 is near, but l0 would answer through its router; c1 is in l0's own network.
  const RailChoice choice =
      choose({port_of("c0", "10.0.1.1", 8), port_of("c1", "10.0.0.1", 25)}, {port_of("l0", "10.0.0.2", 25)});
  EXPECT_EQ(devices(choice), "c1-l0");
}

TEST(Rails, APrefixNeedNotEndAtAByte) {
  EXPECT_EQ(devices(choose({port_of("c0", "10.0.0.127", 25), port_of("c1", "10.0.0.129", 25)},
                           {port_of("l0", "10.0.0.130", 25)})),
            "c1-l0");
  EXPECT_EQ(devices(choose({port_of("c0", "2001:db8:0:7::1", 63), port_of("c1", "2001:db8:0:5::1", 63)},
                           {port_of("l0", "2001:db8:0:4::2", 63)})),
            "c1-l0");
}

TEST(Rails, TheFastestPairComesFirst) {
  const std::vector<RdmaPort> ours = {port_of("c0", "10.0.0.1", 24, 100'000),
                                      port_of("c1", "10.0.1.1", 24, 200'000)};
  EXPECT_EQ(
      devices(choose(ours, {port_of("l0", "10.0.0.2", 24, 100'000), port_of("l1", "10.0.1.2", 24, 200'000)})),
      "c1-l1 c0-l0");
  // The slower end counts, and speed comes before the subnet: connecting will show whether it can be.
  EXPECT_EQ(
      devices(choose(ours, {port_of("l0", "10.0.0.2", 24, 200'000), port_of("l1", "10.0.1.2", 24, 100'000)})),
      "c1-l0 c0-l1");
}

TEST(Rails, OfPairsAsFastThoseOfOneSubnetComeFirst) {
  const RailChoice choice =
      choose({port_of("c0", "10.0.0.1", 24)}, {port_of("l0", "10.0.1.2", 24), port_of("l1", "10.0.0.3", 24)});
  ASSERT_EQ(choice.candidates.size(), 2u);
  EXPECT_EQ(choice.candidates[0].listening.device, "l1");
  EXPECT_EQ(choice.candidates[1].listening.device, "l0");
}

TEST(Rails, NoPortIsInTwoPairs) {
  // Two addresses of one port do not make two rails.
  const RailChoice one = choose({port_of("c0", "10.0.0.1", 24), port_of("c0", "10.0.1.1", 24)},
                                {port_of("l0", "10.0.0.2", 24), port_of("l1", "10.0.1.2", 24)});
  EXPECT_EQ(devices(one), "c0-l0");
  const RailChoice two = choose({port_of("c0", "10.0.0.1", 24), port_of("c1", "10.0.0.2", 24)},
                                {port_of("l0", "10.0.0.3", 24), port_of("l1", "10.0.0.4", 24)});
  EXPECT_EQ(devices(two), "c1-l0 c0-l1");  // 2 and 3 have the longer prefix in common
}

TEST(Rails, TwoPortsOfOneDeviceAreTwo) {
  RdmaPort second = port_of("c0", "10.0.1.1", 24);
  second.port = 2;
  EXPECT_EQ(devices(choose({port_of("c0", "10.0.0.1", 24), second},
                           {port_of("l0", "10.0.0.2", 24), port_of("l1", "10.0.1.2", 24)})),
            "c0-l0 c0-l1");
}

TEST(Rails, AHostThatCopiesToItselfPairsEachPortWithItself) {
  const std::vector<RdmaPort> own = {port_of("r0", "10.0.0.1", 24), port_of("r1", "10.0.0.2", 24),
                                     port_of("r0", "fe80::1%eth-r0", 64),
                                     port_of("r1", "fe80::2%eth-r1", 64)};
  EXPECT_EQ(devices(choose(own, own)), "r0-r0 r1-r1");
}

TEST(Rails, KindsOfLinkDoNotMix) {
  const RailChoice choice = choose({port_of("c0", "10.0.0.1", 24, 100'000, LinkKind::infiniband)},
                                   {port_of("l0", "10.0.0.2", 24, 100'000, LinkKind::roce)});
  EXPECT_TRUE(choice.candidates.empty());
  EXPECT_EQ(choice.none_because,
            "no common kind of link: c0/1 10.0.0.1 (InfiniBand) and l0/1 10.0.0.2 (RoCE)");
}

TEST(Rails, FamiliesDoNotMix) {
  const RailChoice choice = choose({port_of("c0", "10.0.0.1", 24)}, {port_of("l0", "2001:db8::2", 64)});
  EXPECT_EQ(choice.none_because,
            "no addresses that could reach each other: c0/1 10.0.0.1 (RoCE) and l0/1 2001:db8::2 (RoCE)");
}

TEST(Rails, WithoutACommonSubnetARouterMayHelp) {
  EXPECT_EQ(devices(choose({port_of("c0", "10.0.0.1", 24)}, {port_of("l0", "10.9.0.2", 24)})), "c0-l0");
  // A slower pair in one subnet does not hide it.
  EXPECT_EQ(devices(choose({port_of("c0", "10.0.0.1", 24), port_of("c1", "10.5.0.1", 24, 400'000)},
                           {port_of("l0", "10.0.0.2", 24), port_of("l1", "10.6.0.2", 24, 400'000)})),
            "c1-l1 c0-l0");
}

TEST(Rails, LinkLocalGoesWithLinkLocalAndTakesTheConnectingScope) {
  const RailChoice choice = choose({port_of("c0", "fe80::1%eth3", 64)},
                                   {port_of("l0", "2001:db8::2", 64), port_of("l0", "fe80::2%ens7", 64)});
  ASSERT_EQ(choice.candidates.size(), 1U);
  EXPECT_EQ(choice.candidates[0].connecting.host, "fe80::1%eth3");
  EXPECT_EQ(choice.candidates[0].listening.host, "fe80::2%eth3");
}

TEST(Rails, LinkLocalComesLast) {
  const RailChoice choice = choose({port_of("c0", "fe80::1%a", 64), port_of("c0", "10.0.0.1", 31)},
                                   {port_of("l0", "fe80::2%b", 64), port_of("l0", "10.0.0.3", 31)});
  ASSERT_EQ(choice.candidates.size(), 2u);
  EXPECT_EQ(choice.candidates[0].listening.host, "10.0.0.3");
  EXPECT_EQ(choice.candidates[1].listening.host, "fe80::2%a");
}

TEST(Rails, LinkLocalOfTwoPortsShowsNoWay) {
  const std::vector<RdmaPort> two = {port_of("c0", "fe80::1%a", 64), port_of("c1", "fe80::2%b", 64)};
  const std::vector<RdmaPort> one = {port_of("l0", "fe80::3%c", 64)};
  EXPECT_THAT(choose(two, one).none_because, HasSubstr("no addresses that could reach each other"));
  EXPECT_THAT(choose(one, two).none_because, HasSubstr("no addresses that could reach each other"));
}

TEST(Rails, ViaPicksADeviceAnInterfaceOrAnAddressOfEitherSide) {
  const std::vector<RdmaPort> ours = {port_of("c0", "10.0.0.1", 24), port_of("c1", "10.0.1.1", 24)};
  const std::vector<RdmaPort> theirs = {port_of("l0", "10.0.0.2", 24), port_of("l1", "10.0.1.2", 24)};
  for (const char* via : {"c1", "c1/1", "eth-c1", "10.0.1.1", "l1", "eth-l1", "10.0.1.2"}) {
    EXPECT_EQ(devices(choose(ours, theirs, via)), "c1-l1") << via;
  }
}

TEST(Rails, ViaAnAddressMayBeWrittenInOtherWays) {
  EXPECT_EQ(devices(choose({port_of("c0", "2001:db8::1", 64), port_of("c1", "2001:db8:1::1", 64)},
                           {port_of("l0", "2001:db8::2", 64), port_of("l1", "2001:db8:1::2", 64)},
                           "2001:0db8:0001:0:0:0:0:1")),
            "c1-l1");
}

TEST(Rails, ViaWhatNobodyHasSaysSo) {
  const RailChoice choice =
      choose({port_of("c0", "10.0.0.1", 24)}, {port_of("l0", "10.0.0.2", 24)}, "mlx5_7");
  EXPECT_TRUE(choice.candidates.empty());
  EXPECT_TRUE(choice.via_is_nowhere);
  EXPECT_EQ(choice.none_because,
            "neither host has a usable RDMA device, interface or address mlx5_7; the connecting host has "
            "c0/1 10.0.0.1 "
            "(RoCE), the listening host l0/1 10.0.0.2 (RoCE)");
}

TEST(Rails, AHostWithoutPortsSaysWhyAndWhichHost) {
  const RdmaPorts none = {{}, "mlx5_0/1 is down"};
  const RdmaPorts other = {{}, "no RDMA device"};
  const RdmaPorts some = {{port_of("c0", "10.0.0.1", 24)}, {}};
  EXPECT_EQ(choose_rails(some, none, {}).none_because, "on the listening host: mlx5_0/1 is down");
  EXPECT_EQ(choose_rails(none, some, {}).none_because, "on the connecting host: mlx5_0/1 is down");
  EXPECT_EQ(choose_rails(none, none, {}).none_because, "on both hosts: mlx5_0/1 is down");
  EXPECT_EQ(choose_rails(none, other, {}).none_because,
            "on the connecting host: mlx5_0/1 is down; on the listening host: no RDMA device");
}

RdmaPort by_hand(std::string device, std::string gid, std::uint8_t prefix_bits,
                 LinkKind link = LinkKind::roce) {
  RdmaPort port = port_of(std::move(device), "", prefix_bits, 100'000, link);
  port.gid = std::move(gid);
  return port;
}

constexpr const char* kGidHere = "0000:0000:0000:0000:0000:ffff:0a00:0001";   // 10.0.0.1
constexpr const char* kGidThere = "0000:0000:0000:0000:0000:ffff:0a00:0002";  // 10.0.0.2

TEST(Rails, PortsThatCmCannotJoinAreJoinedByTheirGids) {
  const RailChoice choice =
      choose({by_hand("c0", kGidHere, 24)}, {port_of("l0", "10.0.0.2", 24), by_hand("l0", kGidThere, 24)});
  ASSERT_EQ(choice.candidates.size(), 1u);
  EXPECT_TRUE(choice.candidates[0].connecting.by_hand());
  EXPECT_TRUE(choice.candidates[0].listening.by_hand());
}

TEST(Rails, PortsThatCmCanJoinAreLeftToIt) {
  const RailChoice choice = choose({port_of("c0", "10.0.0.1", 24), by_hand("c0", kGidHere, 24)},
                                   {port_of("l0", "10.0.0.2", 24), by_hand("l0", kGidThere, 24)});
  ASSERT_EQ(choice.candidates.size(), 1u);
  EXPECT_EQ(choice.candidates[0].listening.host, "10.0.0.2");
}

TEST(Rails, ViaMayBeTheAddressInAGid) {
  const std::vector<RdmaPort> ours{by_hand("c0", kGidHere, 24)}, theirs{by_hand("l0", kGidThere, 24)};
  EXPECT_EQ(devices(choose(ours, theirs, "10.0.0.2")), "c0-l0");
  EXPECT_EQ(devices(choose(ours, theirs, "c0")), "c0-l0");
  EXPECT_EQ(devices(choose(ours, theirs, "10.0.0.3")), "");
}

TEST(Rails, InfiniBandIsJoinedWithoutCmWithinASubnetOnly) {
  constexpr LinkKind kIb = LinkKind::infiniband;
  const std::vector<RdmaPort> ours{by_hand("c0", "fe80:0000:0000:0000:0000:0000:0000:0001", 64, kIb),
                                   by_hand("c1", "fe80:0000:0000:0000:0000:0000:0000:0002", 64, kIb)};
  const std::vector<RdmaPort> theirs{by_hand("l0", "fe80:0000:0000:0000:0000:0000:0000:0003", 64, kIb),
                                     by_hand("l1", "fe80:0000:0000:0000:0000:0000:0000:0004", 64, kIb)};
  const std::vector<RdmaPort> others{by_hand("l0", "fec0:0000:0000:0001:0000:0000:0000:0003", 64, kIb)};
  EXPECT_EQ(best_rails(choose(ours, theirs).candidates).size(), 2u);
  EXPECT_TRUE(choose(ours, others).candidates.empty());
}

TEST(Rails, AHostWithoutCmAndOneThatKnowsNothingElseSayWhy) {
  const RdmaPorts without = {{by_hand("c0", kGidHere, 24)},
                             "/dev/infiniband/rdma_cm: No such file or directory"};
  const RdmaPorts older = {{port_of("l0", "10.0.0.2", 24)}, {}};
  EXPECT_EQ(choose_rails(without, older, {}).none_because,
            "on the connecting host: /dev/infiniband/rdma_cm: No such file or directory");
  EXPECT_NE(choose_rails({{}, {}}, older, {}).none_because, "") << "a peer that says nothing";
  EXPECT_NE(choose_rails({{by_hand("c0", kGidHere, 24)}, {}}, older, {}).none_because, "");
}

TEST(Rails, WhatThePeerMakesUpIsNotFollowed) {
  EXPECT_TRUE(choose({by_hand("c0", kGidHere, 24)}, {by_hand("l0", "somewhere", 24)}).candidates.empty());
  EXPECT_TRUE(choose({by_hand("c0", "", 24)}, {by_hand("l0", "", 24)}).candidates.empty());
  // No address at all, and prefixes longer than an address.
  EXPECT_TRUE(choose({port_of("c0", "10.0.0.1", 24)}, {port_of("l0", "somewhere", 24)}).candidates.empty());
  EXPECT_EQ(devices(choose({port_of("c0", "10.0.0.1", 24)}, {port_of("l0", "10.0.0.1", 255)})), "c0-l0");
  EXPECT_EQ(devices(choose({port_of("c0", "fe80::1%a", 255)}, {port_of("l0", "fe80::2%b", 255)})), "c0-l0");
}

}  // namespace
}  // namespace rdcp::net
