#include "net/sockets/address.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

TEST(Address, TextPutsIpv6InBrackets) {
  EXPECT_EQ((Address{"10.0.0.1", 80}.text()), "10.0.0.1:80");
  EXPECT_EQ((Address{"fe80::1%eth0", 80}.text()), "[fe80::1%eth0]:80");
}

TEST(Address, ComesBackFromTheKernelsForm) {
  for (const Address& address : {Address{"10.1.2.3", 65535}, Address{"2001:db8::1", 1}, Address{"::1", 0}}) {
    const auto kernels = to_socket_address(address);
    ASSERT_TRUE(kernels);
    EXPECT_EQ(to_address(*kernels), address);
  }
}

TEST(Address, ALinkLocalAddressKeepsItsScope) {
  const auto kernels = to_socket_address({"fe80::1%lo", 5});
  ASSERT_TRUE(kernels) << kernels.error().message();
  EXPECT_EQ(to_address(*kernels), (Address{"fe80::1%lo", 5}));
}

TEST(Address, AMappedAddressIsShownAsIpv4) {
  EXPECT_EQ(to_address(*to_socket_address({"::ffff:10.0.0.7", 9})), (Address{"10.0.0.7", 9}));
}

TEST(Address, NamesAreNotLookedUp) {
  const auto kernels = to_socket_address({"localhost", 5});
  ASSERT_FALSE(kernels);
  EXPECT_EQ(kernels.error().kind, io::ErrorKind::usage);
}

TEST(BestFirst, FastLinksThenLinkLocalThenLoopback) {
  const std::vector<InterfaceAddress> found = {
      {.interface = "lo", .host = "127.0.0.1", .loopback = true},
      {.interface = "slow", .host = "10.0.0.1", .megabits = 1000},
      {.interface = "fast", .host = "fe80::2%fast", .megabits = 100'000, .link_local = true},
      {.interface = "fast", .host = "10.0.1.1", .megabits = 100'000},
      {.interface = "virtual", .host = "10.0.2.1"},
  };
  const std::vector<std::string> expected = {"10.0.1.1", "10.0.0.1", "10.0.2.1", "fe80::2%fast", "127.0.0.1"};
  EXPECT_EQ(best_first(found, ""), expected);
}

TEST(BestFirst, TheAddressThatSshReachedComesFirstAndOnce) {
  const std::vector<InterfaceAddress> found = {
      {.interface = "fast", .host = "10.0.1.1", .megabits = 100'000},
      {.interface = "slow", .host = "10.0.0.1", .megabits = 1000},
  };
  const std::vector<std::string> expected = {"10.0.0.1", "10.0.1.1"};
  EXPECT_EQ(best_first(found, "10.0.0.9 50000 10.0.0.1 22"), expected);
  EXPECT_EQ(best_first({}, "10.0.0.9 50000 192.0.2.1 22"), std::vector<std::string>{"192.0.2.1"});
}

TEST(BestFirst, AVariableOfAnotherShapeIsIgnored) {
  EXPECT_TRUE(best_first({}, "10.0.0.9 50000").empty());
}

TEST(OwnAddresses, LoopbackIsLast) {
  ::unsetenv("SSH_CONNECTION");
  const auto hosts = own_addresses("");
  ASSERT_TRUE(hosts) << hosts.error().message();
  ASSERT_FALSE(hosts->empty());
  EXPECT_TRUE(hosts->back() == "127.0.0.1" || hosts->back() == "::1") << hosts->back();
  for (const std::string& host : *hosts) EXPECT_TRUE(to_socket_address({host, 0})) << host;
}

TEST(IsOfThisHost, OnlyANumericAddressOfAnInterfaceThatIsHereCanBeTold) {
  EXPECT_EQ(is_of_this_host({"127.0.0.1", 0}), true);
  EXPECT_EQ(is_of_this_host({"127.0.0.1", 1}), true);  // whoever may listen there
  EXPECT_EQ(is_of_this_host({"localhost", 0}), std::nullopt);
  EXPECT_EQ(is_of_this_host({"UNKNOWN", 0}), std::nullopt);  // as SSH_CONNECTION may have it
  EXPECT_EQ(is_of_this_host({"fe80::1%no-such-link", 0}), std::nullopt);
}

TEST(OwnAddresses, ViaAnAddressIsThatAddress) {
  EXPECT_EQ(*own_addresses("192.0.2.7"), std::vector<std::string>{"192.0.2.7"});
}

TEST(OwnAddresses, ViaAnInterfaceIsItsAddresses) {
  const auto hosts = own_addresses("lo");
  ASSERT_TRUE(hosts) << hosts.error().message();
  EXPECT_NE(std::ranges::find(*hosts, "127.0.0.1"), hosts->end());
}

TEST(OwnAddresses, ViaAnUnknownInterfaceNamesIt) {
  const auto hosts = own_addresses("nosuch0");
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.error().kind, io::ErrorKind::usage);
  EXPECT_NE(hosts.error().message().find("nosuch0"), std::string::npos);
  EXPECT_NE(hosts.error().message().find("lo"), std::string::npos);  // what there is
}

}  // namespace
}  // namespace rdcp::net
