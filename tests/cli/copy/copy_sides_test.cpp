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

TEST_F(CopySidesTest, TheSourceLearnsThatItMayAddStreams) {
  sides.let_streams_grow(4, true);
  const auto raw = source.hear();
  ASSERT_TRUE(raw);
  EXPECT_EQ(source.channel->decode<tree::GrowStreams>(*raw)->most, 4);
  EXPECT_EQ(target.hear_type(), MessageType{});
}

TEST(CopySides, TheTargetOfASourceIsToldHowManyStreamsToMake) {
  CopySides sides;
  FakeAgent source("from"), target("to");
  ASSERT_TRUE(source.reach_session(tree::Hello()) && target.reach_session(tree::Hello()));
  AgentSession& from = *sides.set_source(std::move(source.session)).session;
  sides.add_target(std::move(target.session));
  from.tell(tree::SourceJob());
  sides.let_streams_grow(4, false);
  source.hear_type();
  EXPECT_EQ(source.hear_type(), MessageType::grow_streams);
  sides.expect_losses();
  source.say(tree::UseStreams{3});
  ASSERT_TRUE(from.receive());
  const auto raw = target.hear();
  ASSERT_TRUE(raw);
  EXPECT_EQ(target.channel->decode<tree::UseStreams>(*raw)->streams, 3);
}

TEST(CopySides, NoStreamsAreAddedByWhoIsTooOldToMakeThem) {
  tree::Hello older;
  older.protocol = tree::GrowStreams::kFirstProtocol - 1;
  for (const bool source_connects : {true, false}) {
    CopySides sides;
    FakeAgent source("from"), target("to");
    ASSERT_TRUE(source.reach_session(tree::Hello()) && target.reach_session(older));
    sides.set_source(std::move(source.session));
    sides.add_target(std::move(target.session));
    sides.let_streams_grow(4, source_connects);
    EXPECT_EQ(source.hear_type(), source_connects ? MessageType::grow_streams : MessageType{});
  }
}

// As rdrecv and the segments of rdpipe.
TEST_F(CopySidesTest, WhoWasNotStartedHereWaitsForTheLastWord) {
  sides.let_end_when_done(std::chrono::seconds(1));
  for (FakeAgent* agent : {&source, &target, &other_target}) EXPECT_EQ(agent->hear_type(), MessageType{});
}

TEST_F(CopySidesTest, WhoKnowsHowMarksItsPackets) {
  EXPECT_TRUE(sides.mark_packets(104).empty());
  for (FakeAgent* agent : {&source, &target, &other_target}) {
    const auto raw = agent->hear();
    ASSERT_TRUE(raw);
    EXPECT_EQ(agent->channel->decode<tree::MarkPackets>(*raw)->traffic_class, 104);
  }
}

TEST(CopySides, WhoIsTooOldToMarkPacketsIsNotTold) {
  CopySides sides;
  FakeAgent source("from"), target("to");
  tree::Hello older;
  older.protocol = tree::MarkPackets::kFirstProtocol - 1;
  ASSERT_TRUE(source.reach_session(tree::Hello()) && target.reach_session(older));
  sides.set_source(std::move(source.session)).session->tell(tree::SourceJob());
  const AgentSession& old = *sides.add_target(std::move(target.session)).session;
  EXPECT_THAT(sides.mark_packets(104), testing::ElementsAre(&old));
  EXPECT_EQ(source.hear_type(), MessageType::source_job);
  EXPECT_EQ(source.hear_type(), MessageType::mark_packets);
  EXPECT_EQ(target.hear_type(), MessageType{});
}

class ProveEarlyTest : public testing::Test {
 protected:
  // A source of this version, and a target that says this.
  void set_up(const tree::Hello& target_says) {
    tree::Hello says;
    says.fast_aes = true;
    ASSERT_TRUE(source.reach_session(says) && target.reach_session(target_says));
    sides.set_source(std::move(source.session));
    sides.add_target(std::move(target.session));
    EXPECT_TRUE(sides.let_prove_early());
  }
  static tree::Hello hello(bool fast_aes) {
    tree::Hello hello;
    hello.fast_aes = fast_aes;
    return hello;
  }
  std::optional<net::EarlyTerms> heard(FakeAgent& agent) {
    const auto raw = agent.hear();
    if (!raw || raw->type != MessageType::prove_early) return std::nullopt;
    return agent.channel->decode<tree::ProveEarly>(*raw)->terms;
  }
  CopySides sides;
  FakeAgent source{"from"}, target{"to"};
};

TEST_F(ProveEarlyTest, BothAreToldTheSame) {
  for (const bool fast : {true, false}) {
    SCOPED_TRACE(fast);
    CopySides fresh;
    FakeAgent from{"from"}, to{"to"};
    ASSERT_TRUE(from.reach_session(hello(true)) && to.reach_session(hello(fast)));
    fresh.set_source(std::move(from.session));
    fresh.add_target(std::move(to.session));
    EXPECT_TRUE(fresh.let_prove_early());
    const auto here = heard(from);
    const auto there = heard(to);
    ASSERT_TRUE(here && there);
    EXPECT_EQ(here->nonce, there->nonce);
    EXPECT_NE(here->nonce, net::Nonce());
    EXPECT_EQ(here->cipher, fast ? net::Cipher::aes_256_gcm : net::Cipher::chacha20_poly1305);
    EXPECT_EQ(there->cipher, here->cipher);
  }
}

TEST_F(ProveEarlyTest, WhoIsTooOldWaitsForAChallenge) {
  tree::Hello older = hello(false);
  older.protocol = tree::ProveEarly::kFirstProtocol - 1;
  set_up(older);
  EXPECT_EQ(source.hear_type(), MessageType{});
  EXPECT_EQ(target.hear_type(), MessageType{});
}

TEST_F(CopySidesTest, TheKeysOfSeveralTargetsAreNotProvenEarly) {
  EXPECT_TRUE(sides.let_prove_early());
  for (FakeAgent* agent : {&source, &target, &other_target}) EXPECT_EQ(agent->hear_type(), MessageType{});
}

// An agent of the version before moves no thread, and would end the run at a message that it does not know.
TEST(CopySides, WhoWouldMoveNoThreadIsNotTold) {
  FakeAgent source{"from"}, target{"to"};
  tree::Hello older;
  older.protocol = tree::LeavePlacement::kFirstProtocol - 1;
  EXPECT_TRUE(source.reach_session(older));
  EXPECT_TRUE(target.reach_session(tree::Hello()));
  CopySides sides;
  sides.set_source(std::move(source.session));
  sides.add_target(std::move(target.session));
  sides.leave_placement();
  EXPECT_EQ(source.hear_type(), MessageType{});
  EXPECT_EQ(target.hear_type(), MessageType::leave_placement);
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
