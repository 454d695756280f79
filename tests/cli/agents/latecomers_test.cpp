#include "cli/agents/latecomers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "tests/cli/fake_agent.h"

namespace rdcp::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct NoUser : SessionUser {
  void hear_problem(AgentSession& /*session*/, const tree::Problem& /*problem*/) override {}
  void lose(AgentSession& /*session*/, const io::Error& /*error*/) override {}
  void fail(const io::Error& /*error*/) override {}
  void end_by_signal(int /*signal*/) override {}
};

struct LatecomersTest : testing::Test {
  FakeAgent& add() {
    FakeAgent& agent = agents.emplace_back("host");
    loop.add(*agent.session);
    return agent;
  }
  static void greet(FakeAgent& agent) { EXPECT_TRUE(agent.reach_session(tree::Hello())); }

  NoUser user;
  SessionLoop loop{{}, user};
  std::deque<FakeAgent> agents;
};

TEST_F(LatecomersTest, OnlySoManyMayLogInAtATime) {
  for (std::ptrdiff_t i = 0; i < SessionLoop::kLoginsMax; ++i) {
    EXPECT_TRUE(loop.has_room_for_login());
    add();
  }
  EXPECT_FALSE(loop.has_room_for_login());
  greet(agents[3]);
  EXPECT_TRUE(loop.has_room_for_login());
  add();
  EXPECT_FALSE(loop.has_room_for_login());
  agents[5].channel.reset();
  EXPECT_FALSE(agents[5].session->receive());
  EXPECT_TRUE(loop.has_room_for_login()) << "one that is gone takes no room";
}

TEST_F(LatecomersTest, NobodyIsLateBeforeOneHasGreeted) {
  Latecomers latecomers(std::chrono::milliseconds(0));
  add();
  FakeAgent& first = add();
  EXPECT_THAT(latecomers.find(loop.sessions()), IsEmpty());
  greet(first);
  EXPECT_THAT(latecomers.find(loop.sessions()), ElementsAre(agents[0].session.get()));
}

// As the source's agent on this host, which greets at once.
TEST_F(LatecomersTest, WhoIsNotWaitedForMakesNobodyLate) {
  Latecomers latecomers(std::chrono::milliseconds(0));
  AgentSession* const host = add().session.get();
  greet(add());
  EXPECT_THAT(latecomers.find({host}), IsEmpty());
}

TEST_F(LatecomersTest, OneIsLateSomeTimeAfterTheLastOther) {
  Latecomers latecomers;
  add();
  greet(add());
  EXPECT_THAT(latecomers.find(loop.sessions()), IsEmpty());
}

}  // namespace
}  // namespace rdcp::cli
