#include "cli/copy/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/text/exit_status.h"
#include "io/thread.h"
#include "tests/cli/fake_agent.h"
#include "tree/streams/frame_ledger.h"

namespace rdcp::cli {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

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
    request.parties.start_targets = {[this] { return AgentSession::Started(std::move(target.session)); }};
    request.view.quiet = true;
    request.view.tell = [this](io::ErrorKind, const std::string& text) { told.push_back(text); };
  }
  ~CoordinatorTest() override { thread.join(); }
  void start() {
    auto started = io::Thread::start("the coordinator", [this] {
      Coordinator coordinator(request, -1);
      status = coordinator.run();
      outcomes = coordinator.chain().outcomes();
    });
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
  std::vector<HostOutcome> outcomes;
  io::Thread thread;
};

struct BegunCopyTest : CoordinatorTest {
  // Both agents say hello and get ready.
  void get_ready() {
    start();
    source.say(tree::Hello());
    EXPECT_EQ(hear<tree::SourceJob>(source).paths, request.sources) << "it need not wait for the target";
    target.say(targets_hello);
    EXPECT_EQ(hear<tree::TargetJob>(target).path, request.destination);
    tree::SourceReady source_ready;
    source_ready.sources = {{tree::PathKind::file, 1, 2}};
    if (source_listens) source_ready.reach.hosts = {"198.51.100.1"};
    source_ready.reach.port = source_listens ? 7001 : 0;
    source.say(source_ready);
    tree::TargetReady target_ready;
    target_ready.kind = tree::PathKind::directory;
    target_ready.reach.hosts = {"192.0.2.1", "192.0.2.2"};
    target_ready.reach.port = 7000;
    target.say(target_ready);
  }
  void begin() {
    get_ready();
    EXPECT_EQ(hear<tree::Knock>(source).port, 7000);
    source.say(tree::Knocked{.answered = {1}, .none_because = {}});
    const tree::Begin to = hear<tree::Begin>(target);
    EXPECT_FALSE(to.connects || to.through_ssh);
    EXPECT_THAT(to.hosts, ElementsAre("192.0.2.2", "192.0.2.1")) << "who has answered comes first";
    hear<tree::Begin>(source);
  }
  void answer_no(FakeAgent& agent, const char* why) {
    hear<tree::Knock>(agent);
    agent.say(tree::Knocked{.answered = {}, .none_because = std::string(why)});
  }
  bool source_listens = true;
  tree::Hello targets_hello;

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

TEST_F(BegunCopyTest, WhoIsTooOldToMarkPacketsIsWarnedOf) {
  std::vector<std::string> remarks;
  request.view.remark = [&](const std::string& line) { remarks.push_back(line); };
  request.traffic_class = 104;
  targets_hello.protocol = tree::MarkPackets::kFirstProtocol - 1;
  targets_hello.program_version = "0.1.9";
  begin();
  source.say(done(true));
  target.say(done(true));
  EXPECT_EQ(finish(), kExitOk);
  EXPECT_THAT(remarks, ElementsAre("warning: --tos is not heeded on to: rdcp 0.1.9 there does not know it, "
                                   "and marks no packets\n"));
}

TEST_F(BegunCopyTest, WhoCannotBeReachedConnects) {
  get_ready();
  answer_no(source, "no way");
  EXPECT_EQ(hear<tree::Knock>(target).port, 7001);
  target.say(tree::Knocked{.answered = {0}, .none_because = {}});
  const tree::Begin to = hear<tree::Begin>(target), from = hear<tree::Begin>(source);
  EXPECT_TRUE(to.connects && !from.connects);
  EXPECT_THAT(to.hosts, ElementsAre("198.51.100.1"));
  EXPECT_EQ(to.port, 7001);
  source.say(done(true));
  target.say(done(true));
  EXPECT_EQ(finish(), kExitOk);
}

TEST_F(BegunCopyTest, NoWayAtAllIsAnErrorThatNamesEach) {
  get_ready();
  answer_no(source, "192.0.2.1:7000: refuses");
  answer_no(target, "198.51.100.1:7001: drops");
  hear<tree::Abort>(source);
  hear<tree::Abort>(target);
  source.channel.reset();
  target.channel.reset();
  thread.join();
  EXPECT_EQ(status, kExitConnection);
  ASSERT_EQ(told.size(), 1u);
  for (const char* part : {"to: 192.0.2.1:7000: refuses", "from: 198.51.100.1:7001: drops", "--data-port"}) {
    EXPECT_THAT(told.front(), testing::HasSubstr(part));
  }
}

TEST_F(BegunCopyTest, WhoDoesNotListenIsNotKnockedAt) {
  source_listens = false;
  get_ready();
  answer_no(source, "refuses");
  hear<tree::Abort>(target);
  source.channel.reset();
  target.channel.reset();
  thread.join();
  EXPECT_EQ(status, kExitConnection);
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

// A coordinator of three targets, up to the begin of their chain.
struct ChainOfThreeTest : CoordinatorTest {
  ChainOfThreeTest() {
    request.parties.start_targets.clear();
    for (FakeAgent* agent : targets) {
      request.parties.start_targets.push_back(
          [agent] { return AgentSession::Started(std::move(agent->session)); });
    }
  }
  void get_ready() {
    start();
    source.say(source_hello);
    for (FakeAgent* agent : targets) {
      tree::Hello hello;
      if (agent == &second) hello.protocol = protocol_of_second;
      agent->say(hello);
    }
    hear<tree::JoinChain>(source);
    source_key = hear<tree::SourceJob>(source).streams.key;
    tree::SourceReady source_ready;
    source_ready.sources = {{tree::PathKind::directory, 1, 2}};
    source.say(source_ready);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      EXPECT_TRUE(hear<tree::JoinChain>(*targets[i]).passes_on);
      const auto job = hear<tree::TargetJob>(*targets[i]);
      keys.push_back(job.streams.key);
      deltas.push_back(job.settings.delta);
      tree::TargetReady ready;
      ready.kind = tree::PathKind::directory;
      ready.reach.hosts = {"192.0.2." + std::to_string(i + 1)};
      ready.reach.port = static_cast<std::uint16_t>(7000 + i);
      targets[i]->say(ready);
    }
    hear<tree::Knock>(source);
    source.say(tree::Knocked{.answered = {0}, .none_because = {}});
  }
  // As far as the copy itself. The source has sent one frame, besides one that was never answered.
  void begin() {
    get_ready();
    for (FakeAgent* agent : targets) hear<tree::KeepLedger>(*agent);
    hear<tree::KeepLedger>(source);
    for (FakeAgent* agent : targets) hear<tree::Begin>(*agent);
    hear<tree::Begin>(source);
    sent.send(net::Sha256{});
    sent.settle(net::Sha256{});
  }
  static tree::Ledger got(int frames, std::uint64_t missing = 0) {
    tree::ReceivedFrames received;
    for (int i = 0; i < frames; ++i) received.add(net::Sha256{});
    tree::Ledger ledger = received.tell();
    ledger.missing = missing;
    return ledger;
  }
  void all_are_done(const std::vector<std::optional<tree::Ledger>>& ledgers) {
    source.say(sent.tell());
    source.say(done(true));
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (ledgers[i]) targets[i]->say(*ledgers[i]);
      targets[i]->say(done(true));
    }
  }
  void finish(int wanted) {
    for (FakeAgent* agent : targets) agent->channel.reset();
    source.channel.reset();
    thread.join();
    EXPECT_EQ(status, wanted);
  }

  tree::Hello source_hello;
  std::uint32_t protocol_of_second = tree::kProtocolVersion;
  FakeAgent second{"second"};
  FakeAgent third{"third"};
  std::vector<FakeAgent*> targets{&target, &second, &third};
  net::SessionKey source_key{};
  std::vector<net::SessionKey> keys;
  std::vector<bool> deltas;  // whether each is asked what it has of an old file
  tree::SentFrames sent;
};

TEST_F(ChainOfThreeTest, EachLinkHasAKeyOfItsOwnThatOnlyItsEndsLearn) {
  request.wish.encrypt = net::Sealing::never;  // so no ledgers are kept
  get_ready();
  EXPECT_EQ(keys[0], source_key);
  EXPECT_NE(keys[0], keys[1]);
  EXPECT_NE(keys[1], keys[2]);
  EXPECT_NE(keys[0], keys[2]);
  for (std::size_t i = 0; i + 1 < targets.size(); ++i) {
    const auto order = hear<tree::PassOn>(*targets[i]);
    EXPECT_EQ(order.streams.key, keys[i + 1]);
    EXPECT_THAT(order.begin.hosts, ElementsAre("192.0.2." + std::to_string(i + 2)));
    EXPECT_EQ(order.begin.port, 7001 + i);
    EXPECT_TRUE(order.begin.landings.empty());
  }
  for (FakeAgent* agent : targets) EXPECT_FALSE(hear<tree::Begin>(*agent).connects);
  hear<tree::Begin>(source);
  source.say(done(true));
  for (FakeAgent* agent : targets) agent->say(done(true));
  for (FakeAgent* agent : targets) EXPECT_EQ(hear<tree::Finish>(*agent).status, kExitOk);
  finish(kExitOk);
}

TEST_F(ChainOfThreeTest, ASourceOfAnOlderVersionAsksNobodyWhatItHasOfAnOldFile) {
  request.settings.inplace = true;
  source_hello.protocol = tree::JoinChain::kDeltasSince - 1;
  begin();
  EXPECT_THAT(deltas, Each(false));
  all_are_done({got(1), got(1), got(1)});
  finish(kExitOk);
}

TEST_F(ChainOfThreeTest, WhoHasGotWhatWasSentIsDone) {
  begin();
  all_are_done({got(1), got(1), got(1)});
  EXPECT_EQ(hear<tree::Finish>(source).status, kExitOk);
  finish(kExitOk);
}

TEST_F(ChainOfThreeTest, WhoHasGotSomethingElseHasFailed) {
  begin();
  all_are_done({got(1), got(2), got(1)});
  EXPECT_EQ(hear<tree::Finish>(source).status, kExitDigest);
  finish(kExitDigest);
  EXPECT_THAT(told,
              ElementsAre(HasSubstr("second: what it has got is not what was sent; it came by way of to")));
  EXPECT_EQ(outcomes[0].status + outcomes[2].status, 0);
  EXPECT_EQ(outcomes[1].state, HostOutcome::State::failed);
}

TEST_F(ChainOfThreeTest, WhoLacksWhatItAskedForHasFailed) {
  begin();
  all_are_done({got(1), got(1), got(1, 2)});
  hear<tree::Finish>(source);
  finish(kExitDigest);
  EXPECT_EQ(outcomes[2].state, HostOutcome::State::failed);
}

// It has said itself why.
TEST_F(ChainOfThreeTest, WhoIsNotCompleteMayLackWhatItAskedFor) {
  begin();
  third.say(tree::Problem{io::ErrorKind::file, true, "the disk is full"});
  source.say(sent.tell());
  source.say(done(true));
  for (FakeAgent* agent : targets) {
    agent->say(got(1, agent == &third ? 5 : 0));
    agent->say(done(agent != &third));
  }
  hear<tree::Finish>(source);
  finish(kExitFiles);
  EXPECT_THAT(told, ElementsAre("third: the disk is full"));
}

TEST_F(ChainOfThreeTest, OnlyTheFirstThatGotSomethingElseHasItFromItsNeighbour) {
  begin();
  all_are_done({got(1), got(2), got(2)});
  hear<tree::Finish>(source);
  finish(kExitDigest);
  EXPECT_THAT(told,
              ElementsAre(HasSubstr("second: what it has got is not what was sent; it came by way of to"),
                          HasSubstr("third: what it has got is not what was sent; it came by way of to")));
}

TEST_F(ChainOfThreeTest, WhoSaysNothingOfWhatItHasGotHasFailed) {
  begin();
  all_are_done({got(1), std::nullopt, got(1)});
  hear<tree::Finish>(source);
  finish(kExitDigest);
  EXPECT_EQ(outcomes[1].state, HostOutcome::State::failed);
}

// What was changed before the chain broke is found out, too.
TEST_F(ChainOfThreeTest, ABrokenChainIsProvenByTheLastWordsOfItsAgents) {
  begin();
  third.say(tree::Problem{io::ErrorKind::connection, true, "the streams are gone"});
  hear<tree::Abort>(source);
  source.say(sent.tell());
  target.say(got(1));
  second.say(got(0));
  third.say(got(1));
  finish(kExitDigest);
  EXPECT_EQ(outcomes[0].state, HostOutcome::State::again);
  EXPECT_EQ(outcomes[1].state, HostOutcome::State::failed);
  EXPECT_EQ(outcomes[2].state, HostOutcome::State::suspect);
}

TEST_F(ChainOfThreeTest, ATargetThatHasNotAllIsNotDone) {
  begin();
  source.say(sent.tell());
  source.say(done(true));
  for (FakeAgent* agent : targets) {
    agent->say(got(1));
    agent->say(done(agent != &second));
  }
  EXPECT_EQ(hear<tree::Finish>(source).status, kExitConnection);
  finish(kExitConnection);
}

// The first of three passes on to both others.
struct TreeOfThreeTest : ChainOfThreeTest {
  TreeOfThreeTest() { request.fanout = 2; }
};

TEST_F(TreeOfThreeTest, TheFirstIsToldOfEachThatItPassesOnTo) {
  request.wish.encrypt = net::Sealing::never;  // so no ledgers are kept
  get_ready();
  for (const std::size_t next : {1u, 2u}) {
    const auto order = hear<tree::PassOn>(target);
    EXPECT_EQ(order.streams.key, keys[next]);
    EXPECT_EQ(order.begin.port, 7000 + next);
  }
  for (FakeAgent* agent : targets) EXPECT_FALSE(hear<tree::Begin>(*agent).connects);
  hear<tree::Begin>(source);
  source.say(done(true));
  for (FakeAgent* agent : targets) agent->say(done(true));
  EXPECT_EQ(hear<tree::Finish>(source).status, kExitOk);
  finish(kExitOk);
}

// In a chain it would have come by way of the second.
TEST_F(TreeOfThreeTest, WhatOneGotCameByWayOfItsParent) {
  begin();
  all_are_done({got(1), got(1), got(2)});
  EXPECT_EQ(hear<tree::Finish>(source).status, kExitDigest);
  finish(kExitDigest);
  EXPECT_THAT(told,
              ElementsAre(HasSubstr("third: what it has got is not what was sent; it came by way of to")));
  EXPECT_EQ(outcomes[1].state, HostOutcome::State::done);
}

TEST_F(TreeOfThreeTest, ALostBranchTellsWhoIsSuspect) {
  begin();
  target.say(tree::BranchLost{.branch = 1, .why = io::Words("reset")});
  hear<tree::Abort>(source);
  for (FakeAgent* agent : targets) agent->say(got(1));
  source.say(sent.tell());
  finish(kExitOk);  // of this tree; the copy goes on in another one
  EXPECT_EQ(outcomes[1].state, HostOutcome::State::again);
  EXPECT_EQ(outcomes[2].state, HostOutcome::State::suspect);
}

// Its version is asked before it is told more than that knows.
TEST_F(TreeOfThreeTest, WhereOneKnowsChainsOnlyItIsAChain) {
  request.wish.encrypt = net::Sealing::never;
  protocol_of_second = 12;
  request.settings.inplace = true;
  get_ready();
  EXPECT_THAT(deltas, ElementsAre(true, false, true));
  hear<tree::PassOn>(target);
  EXPECT_EQ(hear<tree::PassOn>(second).streams.key, keys[2]);
  hear<tree::Begin>(source);
  source.say(done(true));
  for (FakeAgent* agent : targets) agent->say(done(true));
  hear<tree::Finish>(source);
  finish(kExitOk);
}

}  // namespace
}  // namespace rdcp::cli
