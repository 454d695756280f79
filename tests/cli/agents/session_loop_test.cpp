#include "cli/agents/session_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <string>
#include <vector>

#include "io/descriptors.h"
#include "tests/cli/fake_agent.h"

namespace rdcp::cli {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using tree::MessageType;

constexpr milliseconds kAtOnce{0};
constexpr milliseconds kNever{1'000'000};

// Writes down what the loop tells its user.
struct Record : SessionUser {
  void hear_problem(AgentSession& session, const tree::Problem& problem) override {
    events.push_back(session.name() + " has a problem: " + problem.text);
    if (ends_loop != nullptr) ends_loop->end();
  }
  void lose(AgentSession& session, const io::Error& error) override {
    events.push_back(session.name() + " is lost: " + session.explain(error).message());
  }
  void fail(const io::Error& error) override {
    events.push_back(error.message());
    failure = error.kind;
  }
  void end_by_signal(int signal) override { events.push_back("signal " + std::to_string(signal)); }
  void about_to_stop() override { events.push_back("about to stop"); }

  std::vector<std::string> events;
  io::ErrorKind failure{};
  SessionLoop* ends_loop = nullptr;
};

// A signalfd of one signal, which is blocked for the time of the test.
struct SignalDescriptor {
  explicit SignalDescriptor(int number) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, number);
    EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &signals, &before), 0);
    fd.reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~SignalDescriptor() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

  sigset_t before;
  io::Fd fd;
};

struct SessionLoopTest : testing::Test {
  // A loop that sends no beats and takes nobody for silent, unless a test says so.
  static LoopSettings settings() {
    return {.signal_fd = -1, .limits = {kNever, kNever}, .beat_interval = kNever, .silence = "no answer"};
  }
  SessionLoop& start(const LoopSettings& with, std::size_t count = 3) {
    loop.emplace(with, user);
    for (std::size_t i = 1; i <= count; ++i)
      loop->add(*agents.emplace_back("host" + std::to_string(i)).session);
    return *loop;
  }
  void all_say_hello() {
    for (FakeAgent& agent : agents) agent.say(tree::Hello());
    for (FakeAgent& agent : agents) ASSERT_TRUE(agent.session->receive());
  }

  Record user;
  std::deque<FakeAgent> agents;
  std::optional<SessionLoop> loop;
};

TEST_F(SessionLoopTest, HearsEverySessionInOneTurn) {
  start(settings());
  for (FakeAgent& agent : agents) {
    agent.say(tree::Hello());
    agent.say(tree::Problem{io::ErrorKind::file, false, "x"});
  }
  EXPECT_TRUE(loop->turn(kNever));
  EXPECT_THAT(user.events,
              ElementsAre("host1 has a problem: x", "host2 has a problem: x", "host3 has a problem: x"));
}

TEST_F(SessionLoopTest, ALostSessionIsToldOnceAndTheOthersGoOn) {
  start(settings());
  all_say_hello();
  agents[1].channel.reset();
  EXPECT_TRUE(loop->turn(kNever));
  agents[2].say(tree::Problem{io::ErrorKind::file, false, "x"});
  EXPECT_TRUE(loop->turn(kNever));
  EXPECT_THAT(user.events, ElementsAre("host2 is lost: send to host2: is gone", "host3 has a problem: x"));
}

TEST_F(SessionLoopTest, AnAgentThatBreaksTheProtocolIsLost) {
  start(settings(), 1);
  all_say_hello();
  agents[0].say(tree::Pong());
  loop->turn(kNever);
  EXPECT_THAT(user.events,
              ElementsAre("host1 is lost: control message from host1: 'pong' was not asked for"));
  loop->turn(kAtOnce);
  EXPECT_EQ(user.events.size(), 1u);
}

TEST_F(SessionLoopTest, TurnsUntilSomethingHolds) {
  start(settings(), 1);
  agents[0].say(tree::Hello());
  EXPECT_TRUE(loop->turn_until([&] { return agents[0].session->hello().has_value(); }, kNever));
}

TEST_F(SessionLoopTest, TheEndOfTheLoopEndsTheTurn) {
  start(settings());
  user.ends_loop = &*loop;
  for (FakeAgent& agent : agents) {
    agent.say(tree::Hello());
    agent.say(tree::Problem{io::ErrorKind::file, true, "x"});
  }
  EXPECT_FALSE(loop->turn(kNever));
  EXPECT_THAT(user.events, ElementsAre("host1 has a problem: x"));
  for (const std::size_t unread : {1, 2}) agents[unread].session->hear_last_words();
  EXPECT_FALSE(loop->turn_until([] { return false; }, kNever)) << "without a wait";
}

TEST_F(SessionLoopTest, SilenceBeforeTheHelloIsAHostThatCannotBeReached) {
  LoopSettings now = settings();
  now.limits.before_hello = kAtOnce;
  start(now, 1);
  loop->turn(kAtOnce);
  EXPECT_THAT(user.events, ElementsAre("wait for host1: no answer for 0 s"));
  EXPECT_EQ(user.failure, io::ErrorKind::unreachable);
}

TEST_F(SessionLoopTest, SilenceAfterTheHelloIsALostConnection) {
  LoopSettings now = settings();
  now.limits.after_hello = kAtOnce;
  now.silence = "not a word";
  start(now, 1);
  loop->turn(kAtOnce);
  EXPECT_THAT(user.events, IsEmpty());
  all_say_hello();
  loop->turn(kAtOnce);
  EXPECT_THAT(user.events, ElementsAre("wait for host1: not a word for 0 s"));
  EXPECT_EQ(user.failure, io::ErrorKind::connection);
}

TEST_F(SessionLoopTest, WhoIsStoppedOrHasSaidItsLastWordIsNotSilent) {
  LoopSettings now = settings();
  now.limits.after_hello = kAtOnce;
  start(now, 2);
  all_say_hello();
  ASSERT_TRUE(agents[0].reach_session(tree::Suspend()));
  agents[1].session->allow_silence();
  loop->turn(kAtOnce);
  EXPECT_THAT(user.events, IsEmpty());
}

TEST_F(SessionLoopTest, AnAgentThatTakesNoMessageFailsTheRun) {
  start(settings(), 2);
  all_say_hello();
  agents[0].fill();
  loop->turn(kAtOnce);
  EXPECT_THAT(user.events, ElementsAre("write to host1: Connection timed out"));
  EXPECT_EQ(user.failure, io::ErrorKind::connection);
}

TEST_F(SessionLoopTest, BeatsGoToWhoListens) {
  LoopSettings now = settings();
  now.beat_interval = kAtOnce;
  start(now, 3);
  for (const std::size_t greeting : {0, 2}) ASSERT_TRUE(agents[greeting].reach_session(tree::Hello()));
  ASSERT_TRUE(agents[2].reach_session(tree::Suspend()));
  for (int turn = 0; turn < 2; ++turn) {
    loop->turn(kAtOnce);
    EXPECT_EQ(agents[0].hear_type(), MessageType::beat);
    EXPECT_EQ(agents[1].hear_type(), MessageType{}) << "it has not said hello";
    EXPECT_EQ(agents[2].hear_type(), MessageType{}) << "it is stopped";
  }
}

TEST_F(SessionLoopTest, BeatsComeOnceAnInterval) {
  start(settings(), 1);
  all_say_hello();
  for (int turn = 0; turn < 3; ++turn) loop->turn(kAtOnce);
  EXPECT_EQ(agents[0].hear_type(), MessageType::beat);
  EXPECT_EQ(agents[0].hear_type(), MessageType{});
}

TEST_F(SessionLoopTest, ASignalReachesTheUser) {
  const SignalDescriptor signals(SIGTERM);
  LoopSettings now = settings();
  now.signal_fd = signals.fd.get();
  start(now, 1);
  ASSERT_EQ(::raise(SIGTERM), 0);
  EXPECT_TRUE(loop->turn(kNever));
  EXPECT_THAT(user.events, ElementsAre("signal 15"));
}

// The test is a child process, since it is stopped; its parent waits for that, and has it go on.
TEST_F(SessionLoopTest, CtrlZStopsTheProcessAfterTheAgentsHaveBeenTold) {
  const SignalDescriptor signals(SIGTSTP);
  LoopSettings now = settings();
  now.signal_fd = signals.fd.get();
  now.limits.after_hello = std::chrono::minutes(1);
  start(now, 2);
  all_say_hello();
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGTSTP);
    const bool goes_on = loop->turn(kNever);
    const bool told =
        agents[0].hear_type() == MessageType::suspend && agents[1].hear_type() == MessageType::suspend;
    ::_exit(goes_on && told && user.events == std::vector<std::string>{"about to stop"} ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(WSTOPSIG(status), SIGSTOP);
  ASSERT_EQ(::kill(child, SIGCONT), 0);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(SessionLoopTest, OtherDescriptorsAreWatchedWhileThereAreAny) {
  auto event = io::Event::create();
  ASSERT_TRUE(event);
  bool there = false;
  int ready = 0;
  start(settings(), 1);
  loop->watch([&] { return there ? event->fd() : -1; },
              [&] {
                event->drain();
                ++ready;
              });
  event->signal();
  loop->turn(kAtOnce);
  EXPECT_EQ(ready, 0);
  there = true;
  loop->turn(kNever);
  EXPECT_EQ(ready, 1);
  loop->turn(kAtOnce);
  EXPECT_EQ(ready, 1);
}

TEST_F(SessionLoopTest, WhatIsToldToAllIsNotToldToWhoIsGone) {
  start(settings(), 2);
  agents[0].say(tree::Pong());
  loop->turn(kNever);
  ASSERT_TRUE(agents[0].session->gone());
  loop->tell_all(tree::Abort());
  EXPECT_EQ(agents[0].hear_type(), MessageType{});
  EXPECT_EQ(agents[1].hear_type(), MessageType::abort);
}

TEST_F(SessionLoopTest, GoodbyesAreAwaitedAndWhatComesBeforeThemIsDropped) {
  start(settings(), 2);
  all_say_hello();
  for (FakeAgent& agent : agents) {
    agent.say(tree::Problem{io::ErrorKind::file, true, "x"});
    agent.channel.reset();
  }
  loop->await_goodbyes(kNever);
  EXPECT_TRUE(agents[0].session->gone() && agents[1].session->gone());
  EXPECT_THAT(user.events, IsEmpty());
}

TEST_F(SessionLoopTest, WhoSaysNoGoodbyeIsAwaitedForAWhileOnly) {
  start(settings(), 1);
  all_say_hello();
  loop->await_goodbyes(kAtOnce);
  EXPECT_FALSE(agents[0].session->gone());
}

}  // namespace
}  // namespace rdcp::cli
