#include "cli/copy/copy_sides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/fake_agent.h"

namespace rdcp::cli {
namespace {

using tree::MessageType;

// A source and two targets, which have said hello. The sides have the sessions.
struct CopySidesTest : testing::Test {
  CopySidesTest() {
    for (FakeAgent* agent : {&source, &target, &other_target}) {
      sessions.push_back(agent->session.get());
      EXPECT_TRUE(agent->reach_session(tree::Hello()));
    }
    sides.set_source(std::move(source.session));
    sides.add_target(std::move(target.session));
    sides.add_target(std::move(other_target.session));
    sessions[0]->tell(tree::SourceJob());
    for (const std::size_t i : {1, 2}) sessions[i]->tell(tree::TargetJob());
    for (AgentSession* session : sessions) session->tell(tree::Begin());
    for (FakeAgent* agent : {&source, &target, &other_target}) {
      while (agent->hear_type() != MessageType::begin) {
      }
    }
  }
  template <class Message>
  void say(FakeAgent& agent, std::size_t which, const Message& message) {
    agent.say(message);
    ASSERT_TRUE(sessions[which]->receive());
  }

  FakeAgent source{"from"};
  FakeAgent target{"to"};
  FakeAgent other_target{"another"};
  std::vector<AgentSession*> sessions;
  CopySides sides;
};

TEST_F(CopySidesTest, AllAreReadyWhenEachIs) {
  say(source, 0, tree::SourceReady());
  say(target, 1, tree::TargetReady());
  EXPECT_FALSE(sides.all_ready());
  say(other_target, 2, tree::TargetReady());
  EXPECT_TRUE(sides.all_ready());
  for (CopySide* side : sides.started()) side->has_job = true;
  sides.begin_anew();
  EXPECT_FALSE(sides.all_ready());
  for (CopySide* side : sides.started()) EXPECT_FALSE(side->has_job);
}

TEST_F(CopySidesTest, AllAreDoneWhenEachIs) {
  say(source, 0, tree::Done());
  say(target, 1, tree::Done());
  EXPECT_FALSE(sides.all_done());
  EXPECT_TRUE(sides.is_done(*sessions[1]));
  EXPECT_FALSE(sides.is_done(*sessions[2]));
  say(other_target, 2, tree::Done());
  EXPECT_TRUE(sides.all_done());
}

TEST_F(CopySidesTest, WhoIsDoneMayBeSilent) {
  EXPECT_GT(sessions[0]->silence().count(), 0);
  say(source, 0, tree::Done());
  EXPECT_EQ(sessions[0]->silence().count(), 0);
}

TEST_F(CopySidesTest, ALossAtTheSourceIsToldToEachTarget) {
  sides.expect_losses();
  say(source, 0, tree::StreamLost{3});
  EXPECT_EQ(source.hear_type(), MessageType{});
  for (FakeAgent* agent : {&target, &other_target}) {
    const auto raw = agent->hear();
    ASSERT_TRUE(raw);
    EXPECT_EQ(agent->channel->decode<tree::StreamLost>(*raw)->stream, 3);
  }
}

TEST_F(CopySidesTest, ALossAtATargetIsToldToTheSourceAlone) {
  sides.expect_losses();
  say(target, 1, tree::StreamLost{3});
  EXPECT_EQ(source.hear_type(), MessageType::stream_lost);
  EXPECT_EQ(other_target.hear_type(), MessageType{});
}

TEST_F(CopySidesTest, LossesReachNobodyBeforeTheBeginOrAfterTheEnd) {
  say(target, 1, tree::StreamLost{3});
  EXPECT_EQ(source.hear_type(), MessageType{});
  sides.expect_losses();
  say(source, 0, tree::Done());
  say(target, 1, tree::StreamLost{3});
  EXPECT_EQ(source.hear_type(), MessageType{});
}

TEST(CopySides, ACopyWithoutASourceIsNeverDone) {
  CopySides sides;
  EXPECT_FALSE(sides.all_done());
  FakeAgent target("to");
  sides.add_target(std::move(target.session)).done.emplace();
  EXPECT_FALSE(sides.all_done());
}

}  // namespace
}  // namespace rdcp::cli
