#include "tree/guards/told_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rdcp::tree {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ToldAddresses, NumericOnesAreTaken) {
  for (const char* host : {"10.0.0.1", "127.0.0.1", "::1", "fd77::2", "::ffff:10.0.0.1", "FE80::1",
                           "fe80::1%not-here.7", "fe80::1%eth0:1", "fe80::1%3"})
    EXPECT_TRUE(is_address(host)) << host;
}

TEST(ToldAddresses, NothingElseIs) {
  for (const char* host : {"",
                           "localhost",
                           "host.example",
                           "127.0.0.1;touch pwned;:",
                           "127.0.0.1 ",
                           "127.0.0.1 x",
                           "127.0.0.1\n",
                           " ::1",
                           "::1 --no-landlock",
                           "$(id)",
                           "*",
                           "::g",
                           "1.2.3.4.5",
                           "256.0.0.1",
                           "10.0.0.1%eth0",
                           "%eth0",
                           "fe80::1%",
                           "fe80::1%a b",
                           "fe80::1%;id",
                           "fe80::1%`id`",
                           "fe80::1%eth0%eth0",
                           "fe80::1%a-name-that-is-too-long",
                           "UNKNOWN",
                           "-4",
                           "family 1"})
    EXPECT_FALSE(is_address(host)) << host;
  EXPECT_FALSE(is_address(std::string("::1\0x", 5)));
}

TEST(ToldAddresses, WhatIsNoneIsTakenOut) {
  Reach reach;
  reach.hosts = {"UNKNOWN", "10.0.0.1", "127.0.0.1;id", "fe80::1%eth0"};
  keep_addresses(reach);
  EXPECT_THAT(reach.hosts, ElementsAre("10.0.0.1", "fe80::1%eth0"));
  EXPECT_EQ(reach.no_tcp_because, "");
  reach.hosts = {"127.0.0.1;id"};
  keep_addresses(reach);
  EXPECT_THAT(reach.hosts, IsEmpty());
  EXPECT_EQ(reach.no_tcp_because, "none of the addresses that its agent tells is one");
}

TEST(ToldAddresses, WhoTellsNoneKeepsTheReason) {
  Reach reach;
  reach.no_tcp_because = io::Words("no such interface");
  keep_addresses(reach);
  EXPECT_EQ(reach.no_tcp_because, "no such interface");
}

}  // namespace
}  // namespace rdcp::tree
