#include <gtest/gtest.h>
#include <netinet/in.h>

#include <atomic>
#include <future>

#include "net/sockets/sockets.h"
#include "net/tcp/tcp_connect.h"

namespace rdcp::net {
namespace {

constexpr std::uint8_t kClass = 26 << 2;  // AF31

int option_of(int socket, int level, int option) {
  int value = -1;
  socklen_t bytes = sizeof(value);
  return ::getsockopt(socket, level, option, &value, &bytes) == 0 ? value : -1;
}

// Connects over TCP to this address of this host, and looks at both ends.
void expect_class(const std::string& host, TrafficClass wanted, int level, int option, int expected) {
  const SessionKey key = make_session_key().value();
  const HandshakeTerms terms(key, Sealing::never);
  const std::atomic<bool> stop = false;
  const TcpOptions options{.congestion = {}, .traffic_class = wanted};
  auto listener = TcpListener::open(host);
  if (!listener) GTEST_SKIP() << listener.error().message();
  const TcpCall call{terms, std::chrono::seconds(20), stop, options};
  auto accepted = std::async(std::launch::async, [&] { return listener->accept_first(call, 1); });
  auto connected = connect_all({{host, listener->port()}}, call, 1);
  auto there = accepted.get();
  ASSERT_TRUE(connected && there);
  EXPECT_EQ(option_of(connected->front().get(), level, option), expected);
  EXPECT_EQ(option_of(there->front().get(), level, option), expected);
}

TEST(TrafficClass, BothEndsHaveItOverIpv4) {
  expect_class("127.0.0.1", kClass, IPPROTO_IP, IP_TOS, kClass);
}

TEST(TrafficClass, BothEndsHaveItOverIpv6) {
  expect_class("::1", kClass, IPPROTO_IPV6, IPV6_TCLASS, kClass);
}

TEST(TrafficClass, WithoutOneItIsTheSystems) {
  expect_class("127.0.0.1", std::nullopt, IPPROTO_IP, IP_TOS, 0);
}

TEST(TrafficClass, ASocketThatMayHaveAnIpv4PeerHasBoth) {
  auto socket = open_tcp_socket(AF_INET6);
  if (!socket) GTEST_SKIP() << "no IPv6";
  ASSERT_TRUE(set_stream_options(socket->get(), "", kClass));
  EXPECT_EQ(option_of(socket->get(), IPPROTO_IPV6, IPV6_TCLASS), kClass);
  EXPECT_EQ(option_of(socket->get(), IPPROTO_IP, IP_TOS), kClass);
}

// Its answer to a connection, which comes before anybody accepts it, has the class, too.
TEST(TrafficClass, AListenerHandsItOn) {
  auto listener = TcpListener::open("127.0.0.1");
  ASSERT_TRUE(listener && listener->mark(kClass));
  const auto connected = connect_to({"127.0.0.1", listener->port()});
  ASSERT_TRUE(connected);
  const io::Fd accepted = listener->accept();
  ASSERT_TRUE(accepted);
  EXPECT_EQ(option_of(accepted.get(), IPPROTO_IP, IP_TOS), kClass);
  EXPECT_EQ(option_of(connected->get(), IPPROTO_IP, IP_TOS), 0);
}

TEST(TrafficClass, WhatIsNoSocketIsRefused) {
  const auto refused = set_traffic_class(-1, kClass);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, io::ErrorKind::connection);
  EXPECT_TRUE(set_traffic_class(-1, {})) << "nothing is to be set";
}

}  // namespace
}  // namespace rdcp::net
