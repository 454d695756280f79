#include "cli/copy/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/text/exit_status.h"
#include "io/thread.h"
#include "tests/cli/fake_agent.h"

namespace rdcp::cli {
namespace {

using testing::ElementsAre;

constexpr std::chrono::seconds kLong{60};

tree::Done done(bool complete) {
  tree::Done done;
  done.complete = complete;
  return done;
}

// A coordinator in a thread of its own, between two agents that say what a test wants.
struct CoordinatorTest : testing::Test {
  CoordinatorTest() {
    request.sources = {"a"};
    request.destination = "dst";
    request.settings.chunk_bytes = 1 << 20;
    request.parties.start_source = [this] { return AgentSession::Started(std::move(source.session)); };
    request.parties.start_target = [this] { return AgentSession::Started(std::move(target.session)); };
    request.view.quiet = true;
    request.view.tell = [this](io::ErrorKind, const std::string& text) { told.push_back(text); };
  }
  ~CoordinatorTest() override { thread.join(); }
  void start() {
    auto started = io::Thread::start("the coordinator", [this] { status = Coordinator(request, -1).run(); });
    ASSERT_TRUE(started);
    thread = std::move(*started);
  }
  // Takes what the coordinator says to an agent until a message of this kind comes.
  template <class Message>
  Message hear(FakeAgent& agent) {
    for (;;) {
      const auto raw = agent.channel->wait(std::chrono::steady_clock::now() + kLong);
      EXPECT_TRUE(raw) << "instead of " << static_cast<int>(Message::kType);
      if (!raw) return {};
      if (raw->type == Message::kType) return *agent.channel->decode<Message>(*raw);
    }
  }

  CopyRequest request;
  FakeAgent source{"from"};
  FakeAgent target{"to"};
  std::vector<std::string> told;
  int status = -1;
  io::Thread thread;
};

struct BegunCopyTest : CoordinatorTest {
  // Both agents say hello and get ready.
  void get_ready() {
    start();
    source.say(tree::Hello());
    EXPECT_EQ(hear<tree::SourceJob>(source).paths, request.sources) << "it need not wait for the target";
    target.say(tree::Hello());
    EXPECT_EQ(hear<tree::TargetJob>(target).path, request.destination);
    tree::SourceReady source_ready;
    source_ready.sources = {{tree::PathKind::file, 1, 2}};
    source.say(source_ready);
    tree::TargetReady target_ready;
    target_ready.kind = tree::PathKind::directory;
    target_ready.reach.hosts = {"192.0.2.1"};
    target.say(target_ready);
  }
  void begin() {
    get_ready();
    hear<tree::Begin>(target);
    hear<tree::Begin>(source);
  }
  // Returns the status that both agents are told at the end.
  int finish() {
    const int source_told = hear<tree::Finish>(source).status;
    EXPECT_EQ(hear<tree::Finish>(target).status, source_told);
    source.channel.reset();
    target.channel.reset();
    thread.join();
    EXPECT_EQ(status, source_told);
    return status;
  }
};

TEST_F(BegunCopyTest, ACopyThatIsCompleteEndsWell) {
  begin();
  source.say(done(true));
  target.say(done(true));
  EXPECT_EQ(finish(), kExitOk);
}

TEST_F(BegunCopyTest, ACopyThatIsNotCompleteIsALostConnection) {
  begin();
  source.say(done(true));
  target.say(done(false));
  EXPECT_EQ(finish(), kExitConnection);
}

TEST_F(BegunCopyTest, AProblemWithAFileGoesOn) {
  begin();
  target.say(tree::Problem{io::ErrorKind::file, false, "open x: no"});
  source.say(done(true));
  target.say(done(true));
  EXPECT_EQ(finish(), kExitFiles);
  EXPECT_THAT(told, ElementsAre("to: open x: no"));
}

TEST_F(BegunCopyTest, AProblemThatEndsTheRunAbortsBothAndOthersFollowFromIt) {
  begin();
  target.say(tree::Problem{io::ErrorKind::digest, true, "damaged"});
  target.say(tree::Problem{io::ErrorKind::connection, true, "for that reason"});
  hear<tree::Abort>(source);
  hear<tree::Abort>(target);
  source.channel.reset();
  target.channel.reset();
  thread.join();
  EXPECT_EQ(status, kExitDigest);
  EXPECT_THAT(told, ElementsAre("to: damaged"));
}

TEST_F(BegunCopyTest, AnAgentMayGoWhenItIsDoneAndNotBefore) {
  begin();
  target.say(done(true));
  target.channel.reset();
  source.channel.reset();
  thread.join();
  EXPECT_EQ(status, kExitConnection);
  EXPECT_THAT(told, ElementsAre("send to from: is gone"));
}

TEST_F(BegunCopyTest, AnInterruptedRunIsComparedWith) {
  start();
  for (FakeAgent* agent : {&source, &target}) agent->say(tree::Hello());
  EXPECT_FALSE(hear<tree::SourceJob>(source).settings.sync.enabled);
  tree::SourceReady source_ready;
  source_ready.sources = {{tree::PathKind::file, 1, 2}};
  source.say(source_ready);
  hear<tree::TargetJob>(target);
  tree::TargetReady target_ready;
  target_ready.kind = tree::PathKind::directory;
  target_ready.interrupted = target_ready.doubtful = true;
  target.say(target_ready);
  for (const tree::CopySettings& settings :
       {hear<tree::SourceJob>(source).settings, hear<tree::TargetJob>(target).settings}) {
    EXPECT_TRUE(settings.sync.enabled && settings.sync.checksum);
  }
  source.channel.reset();
  target.channel.reset();
}

// The one on this host is started first.
TEST_F(CoordinatorTest, AnAgentThatCannotBeStartedEndsTheOther) {
  request.parties.target_is_far = false;
  request.parties.start_source = [] {
    return AgentSession::Started(io::plain_error(io::ErrorKind::unreachable, "start", "rdcp", "no"));
  };
  start();
  hear<tree::Abort>(target);
  target.channel.reset();
  thread.join();
  EXPECT_EQ(status, kExitUnreachable);
  EXPECT_THAT(told, ElementsAre("start rdcp: no"));
}

}  // namespace
}  // namespace rdcp::cli
