#include "tree/streams/stream_setup.h"

#include <gtest/gtest.h>

namespace rdcp::tree {
namespace {

Begin told(bool connects, bool through_ssh) {
  Begin begin;
  begin.connects = connects;
  begin.through_ssh = through_ssh;
  return begin;
}

StreamWish wish_of(Connect connect, bool either_way, std::uint16_t port = 0) {
  StreamWish wish;
  wish.connect = connect;
  wish.transport = Transport::tcp;
  wish.either_way = either_way;
  wish.port = port;
  return wish;
}

// rdrecv's coordinator is a stranger with a key: it does not decide who connects, or that ssh would.
TEST(StreamSetup, WhoWasNotAskedToGoEitherWayIsNotTurned) {
  const StreamPlace place;
  for (const Connect part : {Connect::listen, Connect::connect}) {
    StreamSetup setup(place);
    ASSERT_TRUE(setup.open(wish_of(part, false)));
    for (const bool connects : {false, true}) {
      const Begin begin = told(connects, true);
      EXPECT_EQ(setup.connects_in(begin), part == Connect::connect);
      EXPECT_FALSE(setup.goes_through_ssh(begin));
    }
  }
}

TEST(StreamSetup, WhoGoesEitherWayListensAndDoesAsItIsTold) {
  const StreamPlace place;
  for (const Connect part : {Connect::listen, Connect::connect}) {
    StreamSetup setup(place);
    const auto reach = setup.open(wish_of(part, true));
    ASSERT_TRUE(reach) << reach.error().message();
    EXPECT_NE(reach->port, 0);
    EXPECT_FALSE(reach->hosts.empty());
    EXPECT_TRUE(setup.connects_in(told(true, false)));
    EXPECT_FALSE(setup.connects_in(told(false, false)));
    EXPECT_TRUE(setup.goes_through_ssh(told(true, true)));
  }
}

// The second one can say why it does not listen.
TEST(StreamSetup, APortThatIsTakenIsNoEndForWhoGoesEitherWay) {
  const StreamPlace place;
  StreamSetup first(place), second(place);
  const auto has = first.open(wish_of(Connect::listen, true));
  ASSERT_TRUE(has);
  const auto none = second.open(wish_of(Connect::listen, true, has->port));
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->hosts.empty());
  EXPECT_NE(std::string(none->no_tcp_because).find("Address already in use"), std::string::npos);
}

// A coordinator that is mistaken, or lies, has it take connections all the same.
TEST(StreamSetup, WhoDoesNotListenTakesNoConnections) {
  const StreamPlace place;
  StreamSetup first(place);
  const auto has = first.open(wish_of(Connect::listen, true));
  ASSERT_TRUE(has);
  for (const bool through_ssh : {false, true}) {
    StreamSetup second(place);
    ASSERT_TRUE(second.open(wish_of(Connect::listen, true, has->port)));
    const auto made = second.make(told(false, through_ssh), false, "");
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind, io::ErrorKind::protocol);
  }
}

}  // namespace
}  // namespace rdcp::tree
