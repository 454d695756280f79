#include "net/tcp/knock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "io/ring.h"
#include "net/tcp/tcp_connect.h"

namespace rdcp::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::atomic<bool> kNever{false};
constexpr std::chrono::hours kForever{24};

// A port at which nobody listens.
std::uint16_t closed_port() {
  return TcpListener::open("127.0.0.1")->port();
}

TEST(Knock, WhoListensAnswers) {
  const auto listener = TcpListener::open("127.0.0.1");
  ASSERT_TRUE(listener);
  const std::vector<Address> addresses{{"127.0.0.1", closed_port()}, {"127.0.0.1", listener->port()}};
  const KnockOutcome outcome = knock(addresses, {seconds(20)}, 0, kNever);
  EXPECT_THAT(outcome.answered, ElementsAre(1));
  EXPECT_THAT(outcome.none_because, IsEmpty());
}

TEST(Knock, EachThatRefusesIsNamedAtOnce) {
  const std::uint16_t port = closed_port();
  const auto begun = io::Clock::now();
  const KnockOutcome outcome =
      knock(std::vector<Address>{{"127.0.0.1", port}, {"nonsense", 1}}, {seconds(60)}, 0, kNever);
  EXPECT_LT(io::Clock::now() - begun, seconds(30));
  EXPECT_THAT(outcome.answered, IsEmpty());
  EXPECT_THAT(outcome.none_because,
              HasSubstr("127.0.0.1:" + std::to_string(port) + ": Connection refused; "));
  EXPECT_THAT(outcome.none_because, HasSubstr("nonsense:1: "));
}

// A listener whose queue is full drops what comes, as a firewall does.
struct DroppingListener : testing::Test {
  DroppingListener() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof at;
    EXPECT_EQ(::bind(full.get(), reinterpret_cast<sockaddr*>(&at), bytes), 0);
    EXPECT_EQ(::listen(full.get(), 0), 0);
    EXPECT_EQ(::getsockname(full.get(), reinterpret_cast<sockaddr*>(&at), &bytes), 0);
    for (int i = 0; i < 4; ++i) {
      queue.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      (void)::connect(queue.back().get(), reinterpret_cast<sockaddr*>(&at), bytes);
    }
    port = ntohs(at.sin_port);
  }
  const io::Fd full{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::vector<io::Fd> queue;
  std::uint16_t port = 0;
};

TEST_F(DroppingListener, IsWaitedForNoLongerThanTheLimit) {
  const KnockOutcome outcome =
      knock(std::vector<Address>{{"127.0.0.1", port}}, {milliseconds(100)}, 0, kNever);
  EXPECT_THAT(outcome.answered, IsEmpty());
  EXPECT_EQ(outcome.none_because, "127.0.0.1:" + std::to_string(port) + ": does not answer");
}

TEST_F(DroppingListener, IsWaitedForNoLongerOnceItIsToStop) {
  const std::atomic<bool> stop{true};
  const KnockOutcome outcome = knock(std::vector<Address>{{"127.0.0.1", port}}, {kForever}, 0, stop);
  EXPECT_THAT(outcome.answered, IsEmpty());
}

// Two hosts that use the same port may have an address in common, such as a bridge's of containers.
TEST(Knock, OnesOwnListenerIsNoAnswer) {
  const auto listener = TcpListener::open("127.0.0.1");
  ASSERT_TRUE(listener);
  const std::vector<Address> addresses{{"127.0.0.1", listener->port()}};
  EXPECT_THAT(knock(addresses, {seconds(20)}, listener->port(), kNever).answered, IsEmpty());
  EXPECT_THAT(knock(addresses, {seconds(20)}, 1, kNever).answered, ElementsAre(0));
}

// Both have a loopback address, at which somebody else may have the other side's port.
TEST(Knock, WhoAnswersHereIsAStrangerIfTheOtherSideIsElsewhere) {
  const Address elsewhere{"192.0.2.1", 1};  // TEST-NET-1, of nobody
  if (is_of_this_host(elsewhere) != false) GTEST_SKIP() << "net.ipv4.ip_nonlocal_bind lets all addresses in";
  const auto stranger = TcpListener::open("");
  ASSERT_TRUE(stranger);
  for (const char* own : {"127.0.0.1", "127.1.2.3", "::1"}) {
    const Address at{own, stranger->port()};
    if (!is_of_this_host(at).value_or(false)) continue;  // this host has no IPv6
    EXPECT_THAT(knock(std::vector<Address>{at}, {seconds(20)}, 0, kNever).answered, ElementsAre(0));
    ASSERT_NE(stranger->accept().get(), -1) << own;
    const std::vector<Address> addresses{elsewhere, at};
    const KnockOutcome outcome = knock(addresses, {milliseconds(50)}, 0, kNever);
    EXPECT_THAT(outcome.answered, IsEmpty()) << own;
    EXPECT_THAT(outcome.none_because, HasSubstr("is this host's own address")) << own;
    EXPECT_EQ(stranger->accept().get(), -1) << own;
    // An interface of this host's may have gone since its addresses were listed.
    EXPECT_THAT(knock(std::vector<Address>{at, elsewhere}, {milliseconds(50)}, 0, kNever).answered,
                ElementsAre(0));
    ASSERT_NE(stranger->accept().get(), -1) << own;
  }
}

TEST(Knock, WhatAnsweredFirstIsLeftOpen) {
  const auto first = TcpListener::open("127.0.0.1");
  const auto second = TcpListener::open("127.0.0.1");
  ASSERT_TRUE(first && second);
  const Address silent{"127.0.0.1", closed_port()};
  const Address best{"127.0.0.1", first->port()};
  const Address other{"127.0.0.1", second->port()};
  const auto left_open = [](const std::vector<Address>& addresses) {
    std::vector<std::uint16_t> to;
    for (const OpenConnection& open : knock(addresses, {seconds(20), 3}, 0, kNever).open)
      to.push_back(open.to.port);
    return to;
  };
  EXPECT_THAT(left_open({best, other}), ElementsAre(best.port, best.port, best.port));
  EXPECT_THAT(left_open({silent, best, other}), ElementsAre(best.port));
}

TEST(Knock, NoAddressIsNoAnswer) {
  EXPECT_EQ(knock({}, {seconds(1)}, 0, kNever).none_because, "it has no address");
}

TEST(Knock, AListIsCutShortRatherThanTakenWhole) {
  const std::vector<Address> addresses(1000, {"127.0.0.1", closed_port()});
  const std::string why = knock(addresses, {seconds(20)}, 0, kNever).none_because;
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(why, ';')), kKnocksMax - 1);
}

}  // namespace
}  // namespace rdcp::net
