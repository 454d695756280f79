#include "cli/agents/round_trip.h"

#include <gtest/gtest.h>

#include "tests/cli/fake_agent.h"

namespace rdcp::cli {
namespace {

using tree::MessageType;

TEST(RoundTrip, SendsThreePingsOneAfterTheOther) {
  FakeAgent agent("host1");
  ASSERT_TRUE(agent.reach_session(tree::Hello()));
  RoundTrip round_trip;
  round_trip.start(*agent.session);
  round_trip.start(*agent.session);
  EXPECT_FALSE(round_trip.shortest());
  for (int ping = 0; ping < 3; ++ping) {
    EXPECT_EQ(agent.hear_type(), MessageType::ping);
    EXPECT_EQ(agent.hear_type(), MessageType{});
    const auto before = round_trip.shortest();
    ASSERT_TRUE(agent.reach_session(tree::Pong()));
    ASSERT_TRUE(round_trip.shortest());
    EXPECT_LE(*round_trip.shortest(), before.value_or(*round_trip.shortest()));
  }
  EXPECT_EQ(agent.hear_type(), MessageType{});
}

}  // namespace
}  // namespace rdcp::cli
