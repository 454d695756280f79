#include "net/sockets/congestion.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <fstream>

#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

// Allowed to everybody.
std::string one_that_there_is() {
  std::string name;
  std::ifstream("/proc/sys/net/ipv4/tcp_allowed_congestion_control") >> name;
  return name;
}

TEST(Congestion, OneThatTheKernelLacksIsAnErrorWithHostAndChoice) {
  const auto checked = check_congestion("nope");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, io::ErrorKind::usage);
  const std::string text = checked.error().message();
  char host[256]{};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  for (const std::string& part : {std::string("nope"), std::string(host), one_that_there_is()}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Congestion, OneThatTheKernelLacksIsNoOptionOfAStream) {
  auto socket = open_tcp_socket(AF_INET);
  ASSERT_TRUE(socket);
  EXPECT_FALSE(set_stream_options(socket->get(), "nope"));
}

TEST(Congestion, OneThatThereIsIsTaken) {
  auto socket = open_tcp_socket(AF_INET);
  ASSERT_TRUE(socket);
  const std::string name = one_that_there_is();
  ASSERT_FALSE(name.empty());
  EXPECT_TRUE(check_congestion(name));
  ASSERT_TRUE(set_stream_options(socket->get(), name));
  char now[16]{};
  socklen_t length = sizeof now;
  ASSERT_EQ(::getsockopt(socket->get(), IPPROTO_TCP, TCP_CONGESTION, now, &length), 0);
  EXPECT_EQ(std::string(now), name);
}

TEST(Congestion, RenoCountsLosses) {
  auto socket = open_tcp_socket(AF_INET);
  ASSERT_TRUE(socket);
  ASSERT_TRUE(set_congestion(socket->get(), "reno"));  // which every kernel has for everybody
  EXPECT_TRUE(congestion_counts_losses(socket->get()));
  if (set_congestion(socket->get(), "bbr")) {
    EXPECT_FALSE(congestion_counts_losses(socket->get()));
  }
  EXPECT_FALSE(congestion_counts_losses(-1));
}

TEST(Congestion, WithoutANameItIsTheSystems) {
  EXPECT_TRUE(check_congestion(""));
}

}  // namespace
}  // namespace rdcp::net
