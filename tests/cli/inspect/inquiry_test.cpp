#include "cli/inspect/inquiry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "io/fd.h"
#include "tests/cli/fake_agent.h"

namespace rdcp::cli {
namespace {

using testing::ElementsAre;

struct InquiryTest : testing::Test {
  AgentSession& add() {
    AgentSession& session = inquiry.add(std::move(agent.session));
    agent.say(tree::Hello());
    EXPECT_TRUE(inquiry.wait_until([&] { return session.hello().has_value(); }));
    return session;
  }
  // Waits until something ends the wait. Returns the error.
  io::Error error() {
    const auto waited = inquiry.wait_until([] { return false; });
    EXPECT_FALSE(waited);
    return waited.error();
  }
  static tree::Problem problem(const char* text) { return {io::ErrorKind::file, true, text}; }

  FakeAgent agent{"host1"};
  Inquiry inquiry{-1, "examine"};
};

TEST_F(InquiryTest, AProblemEndsTheWaitButNotTheInquiry) {
  add();
  agent.say(problem("no"));
  EXPECT_EQ(error().message(), "examine host1: no");
  inquiry.now("measure at");
  agent.say(problem("nor now"));
  EXPECT_EQ(error().message(), "measure at host1: nor now");
  EXPECT_TRUE(inquiry.wait_until([] { return true; }));
}

TEST_F(InquiryTest, ProblemsGoWhereTheyAreWanted) {
  std::vector<std::string> heard;
  inquiry.on_problem(
      [&](const AgentSession&, const tree::Problem& problem) { heard.push_back(problem.text); });
  add();
  agent.say(problem("a"));
  EXPECT_TRUE(inquiry.wait_until([&] { return heard.size() == 1; }));
  EXPECT_THAT(heard, ElementsAre("a"));
}

TEST_F(InquiryTest, ALostAgentEndsTheWait) {
  AgentSession& session = add();
  agent.channel.reset();
  EXPECT_EQ(error().message(), "send to host1: is gone");
  EXPECT_TRUE(session.gone());
}

TEST_F(InquiryTest, WhatHappensToOneSessionIsNoAffairOfOthers) {
  AgentSession& session = add();
  FakeAgent other{"host2"};
  AgentSession& of_other = inquiry.add(std::move(other.session));
  other.channel.reset();
  agent.say(problem("no"));
  EXPECT_TRUE(
      inquiry.wait_for_all([&] { return inquiry.failure_of(session) && inquiry.failure_of(of_other); }));
  EXPECT_EQ(inquiry.failure_of(session)->message(), "examine host1: no");
  EXPECT_EQ(inquiry.failure_of(of_other)->message(), "send to host2: is gone");
  EXPECT_FALSE(inquiry.wait_for({&of_other}, [] { return false; })) << "it is gone for good";
  agent.say(problem("nor now"));
  EXPECT_FALSE(inquiry.wait_for({&session}, [] { return false; })) << "the other one goes on";
  EXPECT_EQ(inquiry.failure_of(session)->message(), "examine host1: nor now");
  inquiry.drop(of_other, false);
  agent.say(problem("nor now"));
  EXPECT_EQ(error().message(), "examine host1: nor now");
}

TEST_F(InquiryTest, AgentsAreToldOfTheEnd) {
  add();
  inquiry.end(false);
  EXPECT_EQ(agent.hear_type(), tree::MessageType::beat);
  EXPECT_EQ(agent.hear_type(), tree::MessageType::finish);
}

TEST(Inquiry, ASignalEndsEveryWait) {
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGHUP);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &signals, &before), 0);
  const io::Fd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  Inquiry inquiry(fd.get(), "clean");
  ASSERT_EQ(::raise(SIGHUP), 0);
  for (int wait = 0; wait < 2; ++wait) {
    const auto waited = inquiry.wait_until([] { return false; });
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().kind, io::ErrorKind::interrupted);
    EXPECT_EQ(inquiry.signal(), SIGHUP);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace rdcp::cli
