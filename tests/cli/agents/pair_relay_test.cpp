#include "cli/agents/pair_relay.h"

#include <gtest/gtest.h>

#include "tests/cli/fake_agent.h"

namespace rdcp::cli {
namespace {

using tree::MessageType;

// Agents that have begun.
struct PairRelayTest : testing::Test {
  void SetUp() override {
    for (FakeAgent* agent : {&source, &middle, &last}) {
      EXPECT_TRUE(agent->reach_session(tree::Hello()));
      AgentSession& session = *agent->session;
      if (agent == &source) {
        session.tell(tree::SourceJob());
      } else {
        session.tell(tree::TargetJob());
      }
      session.tell(tree::Begin());
      while (agent->hear_type() != MessageType::begin) {
      }
    }
  }
  template <class Message>
  static void say(FakeAgent& agent, const Message& message) {
    agent.say(message);
    ASSERT_TRUE(agent.session->receive());
  }
  template <class Message>
  static std::optional<Message> heard(FakeAgent& agent) {
    const auto raw = agent.hear();
    if (!raw || raw->type != Message::kType) return std::nullopt;
    const auto message = agent.channel->decode<Message>(*raw);
    return message ? std::optional<Message>(*message) : std::nullopt;
  }

  FakeAgent source{"from"};
  FakeAgent middle{"middle"};
  FakeAgent last{"last"};
  PairRelay relay;
};

TEST_F(PairRelayTest, AnOfferReachesTheSideThatListensAndTheAnswerTheOther) {
  relay.join(*source.session, 0, *middle.session);
  say(source, tree::PairOffered{0, {.number = 5, .device = "mlx5_0"}});
  const auto offered = heard<tree::PairOffered>(middle);
  ASSERT_TRUE(offered);
  EXPECT_EQ(offered->offer.number, 5u);
  EXPECT_EQ(offered->offer.device, "mlx5_0");
  say(middle, tree::PairAnswered{0, {.number = 5, .end = {}, .refusal = "no"}});
  const auto answered = heard<tree::PairAnswered>(source);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->answer.refusal, "no");
}

TEST_F(PairRelayTest, WhoConnectsToSeveralHearsWhichOneAnswers) {
  relay.join(*source.session, 0, *middle.session);
  relay.join(*middle.session, 1, *last.session);
  say(middle, tree::PairOffered{1, {.number = 6}});
  const auto offered = heard<tree::PairOffered>(last);
  ASSERT_TRUE(offered);
  EXPECT_EQ(offered->link, 0u);
  EXPECT_EQ(source.hear_type(), MessageType{});
  say(last, tree::PairAnswered{0, {.number = 6, .end = {}, .refusal = {}}});
  const auto answered = heard<tree::PairAnswered>(middle);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->link, 1u);
}

TEST_F(PairRelayTest, WhatIsNotOfALinkReachesNobody) {
  relay.join(*source.session, 0, *middle.session);
  say(source, tree::PairOffered{1, {}});
  say(source, tree::PairAnswered{0, {}});
  say(middle, tree::PairOffered{0, {}});
  for (FakeAgent* agent : {&source, &middle, &last}) EXPECT_EQ(agent->hear_type(), MessageType{});
}

TEST_F(PairRelayTest, AnAgentCannotGoOnForEver) {
  relay.join(*source.session, 0, *middle.session);
  bool refused = false;
  for (int i = 0; i <= (1 << 16) && !refused; ++i) {
    source.say(tree::PairAnswered{0, {}});
    refused = !source.session->receive();
  }
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace rdcp::cli
