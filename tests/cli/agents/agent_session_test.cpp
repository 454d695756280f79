#include "cli/agents/agent_session.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>
#include <vector>

#include "tests/cli/fake_agent.h"
#include "tree/messages/chain.h"
#include "tree/messages/changes.h"
#include "tree/messages/clean_job.h"
#include "tree/messages/finding.h"
#include "tree/messages/job.h"
#include "tree/messages/paths_named.h"
#include "tree/messages/segment_job.h"
#include "tree/messages/sum_line.h"

namespace rdcp::cli {
namespace {

using io::Result;

// A session, and an agent that says what it likes and has said hello.
struct AgentSessionTest : testing::Test {
  AgentSessionTest() { EXPECT_TRUE(hear(tree::Hello())); }
  template <class Message>
  Result<void> hear(const Message& message) {
    return agent.reach_session(message);
  }
  template <class Message>
  void expect_refused(const Message& message, const std::string& name,
                      const std::string& why = "was not asked for") {
    const auto heard = hear(message);
    ASSERT_FALSE(heard) << name;
    EXPECT_EQ(heard.error().kind, io::ErrorKind::protocol);
    EXPECT_EQ(heard.error().message(), "control message from host1: '" + name + "' " + why);
    EXPECT_TRUE(session.gone());
  }
  template <class Message>
  void ignore() {
    session.on<Message>([](const Message&) {});
  }

  FakeAgent agent{"host1"};
  AgentSession& session = *agent.session;
};

tree::Listed page(std::size_t entries) {
  tree::Listed page;
  page.entries.resize(entries);
  return page;
}

TEST_F(AgentSessionTest, WhatWasNotAskedForIsRefused) {
  expect_refused(tree::RelayedBytes{.bytes = "x"}, "relayed_bytes");
  expect_refused(page(1), "listed");
  expect_refused(tree::SumTold(), "sum_told");
  expect_refused(tree::Leftovers(), "leftovers");
  expect_refused(tree::Changes(), "changes");
  expect_refused(tree::Sums(), "sums");
  expect_refused(tree::Done(), "done");
  expect_refused(tree::Pong(), "pong");
  expect_refused(tree::Findings(), "findings");
  expect_refused(tree::SegmentEnd(), "segment_end");
  expect_refused(tree::Hello(), "hello");
  expect_refused(tree::Begin(), "begin");
  expect_refused(tree::PathsNamed(), "paths_named");
}

TEST_F(AgentSessionTest, ACopyHasNoUseForWhatOtherJobsAnswer) {
  ignore<tree::SourceReady>();
  ignore<tree::Sums>();
  ignore<tree::Done>();
  session.tell(tree::SourceJob());
  EXPECT_TRUE(hear(tree::SourceReady()));
  session.tell(tree::Begin());
  EXPECT_TRUE(hear(tree::Sums()));
  expect_refused(page(1), "listed");
  expect_refused(tree::RelayedBytes{.bytes = "x"}, "relayed_bytes");
  expect_refused(tree::Leftovers(), "leftovers");
  expect_refused(tree::Changes(), "changes");
  EXPECT_TRUE(hear(tree::Done()));
  expect_refused(tree::Done(), "done");
}

TEST_F(AgentSessionTest, OfAddressesOnlyWhatIsOneIsTaken) {
  std::vector<std::string> hosts;
  session.on<tree::TargetReady>([&](const tree::TargetReady& ready) { hosts = ready.reach.hosts; });
  session.tell(tree::TargetJob());
  tree::TargetReady ready;
  ready.reach.hosts = {"127.0.0.1;touch pwned;:", "fe80::1%eth0", "host.example", "10.0.0.1"};
  EXPECT_TRUE(hear(ready));
  EXPECT_EQ(hosts, (std::vector<std::string>{"fe80::1%eth0", "10.0.0.1"}));
}

TEST_F(AgentSessionTest, PagesAreAsManyAsWereAskedFor) {
  Inbox<tree::Listed> pages;
  session.collect(pages);
  session.tell(tree::ListJob());
  session.tell(tree::ListMore{.pages = 2});
  EXPECT_TRUE(hear(page(1)));
  EXPECT_TRUE(hear(page(1)));
  EXPECT_EQ(pages.take().size(), 2u);
  expect_refused(page(1), "listed");
}

TEST_F(AgentSessionTest, EachMessageGoesToItsHandler) {
  std::vector<std::string> heard;
  session.on<tree::Progress>([&](const tree::Progress& progress) { heard.push_back(progress.path); });
  session.on<tree::Problem>([&](const tree::Problem& problem) { heard.push_back(problem.text); });
  agent.say(tree::Progress{.path = "a"});
  agent.say(tree::Problem{io::ErrorKind::file, false, "b"});
  agent.say(tree::Progress{.path = "c"});
  while (heard.size() < 3) ASSERT_TRUE(session.receive());
  EXPECT_EQ(heard, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(AgentSessionTest, WhatHasNoHandlerIsRefused) {
  session.tell(tree::SourceJob());
  expect_refused(tree::SourceReady(), "source_ready", "is of no use here");
  expect_refused(tree::Problem{io::ErrorKind::file, false, "x"}, "problem", "is of no use here");
}

TEST_F(AgentSessionTest, SignsOfLifeNeedNoHandler) {
  EXPECT_TRUE(hear(tree::Progress()));
  EXPECT_TRUE(hear(tree::Suspend()));
  ignore<tree::RelayedBytes>();
  session.tell(tree::SegmentJob());
  EXPECT_TRUE(hear(tree::Beat()));
  EXPECT_FALSE(session.gone());
}

TEST_F(AgentSessionTest, HowManyStreamsThereAreToBeIsNotToldForEver) {
  std::size_t told = 0;
  session.on<tree::UseStreams>([&](const tree::UseStreams&) { ++told; });
  session.tell(tree::SourceJob());
  session.tell(tree::GrowStreams());
  while (told < 1 << 16) {
    agent.say(tree::UseStreams());
    ASSERT_TRUE(session.receive());
  }
  expect_refused(tree::UseStreams(), "use_streams", "comes more often than streams can be made");
}

TEST_F(AgentSessionTest, ThereAreNoMoreLossesThanStreams) {
  std::size_t losses = 0;
  session.on<tree::StreamLost>([&](const tree::StreamLost&) { ++losses; });
  session.tell(tree::SourceJob());
  session.tell(tree::Begin());
  while (losses < tree::kStreamNumbersMax) {
    agent.say(tree::StreamLost());
    ASSERT_TRUE(session.receive());
  }
  expect_refused(tree::StreamLost(), "stream_lost", "reports more lost streams than there can be");
}

TEST_F(AgentSessionTest, AStoppedAgentMayBeSilentUntilItGoesOn) {
  EXPECT_GT(session.silence().count(), 0);
  EXPECT_TRUE(hear(tree::Suspend()));
  EXPECT_TRUE(session.suspended());
  EXPECT_EQ(session.silence().count(), 0);
  EXPECT_TRUE(hear(tree::Progress()));
  EXPECT_FALSE(session.suspended());
  EXPECT_GT(session.silence().count(), 0);
  session.allow_silence();
  EXPECT_EQ(session.silence().count(), 0);
}

TEST_F(AgentSessionTest, ALostConnectionIsExplained) {
  agent.channel.reset();
  const auto heard = session.receive();
  ASSERT_FALSE(heard);
  EXPECT_TRUE(session.gone());
  EXPECT_EQ(session.explain(heard.error()).message(), "send to host1: is gone");
}

// As when it is stopped: without a limit the coordinator would wait for ever.
TEST_F(AgentSessionTest, AnAgentThatTakesNoMessageIsGivenUp) {
  agent.fill();
  EXPECT_TRUE(session.gone());
  EXPECT_EQ(session.send_failure()->kind, io::ErrorKind::connection);
  EXPECT_EQ(session.send_failure()->message(), "write to host1: Connection timed out");
}

TEST_F(AgentSessionTest, OfTheLastWordsOnlyTheLedgerReachesItsHandler) {
  session.on<tree::Problem>([](const tree::Problem&) { FAIL(); });
  std::uint64_t missing = 0;
  session.on<tree::Ledger>([&](const tree::Ledger& ledger) { missing = ledger.missing; });
  agent.say(tree::Problem{io::ErrorKind::file, true, "x"});
  session.hear_last_words();
  EXPECT_FALSE(session.gone());
  session.tell(tree::TargetJob());
  session.tell(tree::KeepLedger());
  tree::Ledger ledger;
  ledger.missing = 7;
  agent.say(ledger);
  session.hear_last_words();
  EXPECT_EQ(missing, 7u);
  agent.channel.reset();
  session.hear_last_words();
  EXPECT_TRUE(session.gone());
}

// As where nobody takes it.
TEST_F(AgentSessionTest, WhatNobodyTakesIsBounded) {
  Inbox<tree::RelayedBytes> relayed;
  session.collect(relayed);
  session.tell(tree::SegmentJob());
  const tree::RelayedBytes bytes{.bytes = std::string(1 << 20, 'x')};
  std::thread flood([&] {
    while (agent.channel->send(bytes)) {
    }
  });
  Result<void> heard;
  while (heard) heard = session.receive();
  EXPECT_EQ(heard.error().kind, io::ErrorKind::protocol);
  EXPECT_NE(heard.error().message().find("'relayed_bytes' comes faster than it can be taken"),
            std::string::npos);
  EXPECT_LE(relayed.take().size(), Inbox<tree::RelayedBytes>::kBytesMax / bytes.bytes.size());
  ::shutdown(session.fd(), SHUT_RDWR);
  flood.join();
}

TEST_F(AgentSessionTest, WhatIsTakenMakesRoom) {
  Inbox<tree::RelayedBytes> relayed;
  session.collect(relayed);
  session.tell(tree::SegmentJob());
  const tree::RelayedBytes bytes{.bytes = std::string(1 << 20, 'x')};
  std::thread talk([&] {
    for (int i = 0; i < 64; ++i) EXPECT_TRUE(agent.channel->send(bytes));
  });
  for (std::size_t taken = 0; taken < 64; taken += relayed.take().size()) {
    ASSERT_TRUE(session.receive());
  }
  talk.join();
}

TEST(Inbox, ManyItemsWithoutAByteAreBoundedToo) {
  Inbox<char> inbox;
  for (std::size_t i = 0; i < Inbox<char>::kItemsMax; ++i) ASSERT_TRUE(inbox.add('x', 0));
  EXPECT_FALSE(inbox.add('x', 0));
  EXPECT_EQ(inbox.take().size(), Inbox<char>::kItemsMax);
  EXPECT_FALSE(inbox.add('x', Inbox<char>::kBytesMax + 1));
  EXPECT_TRUE(inbox.add('x', Inbox<char>::kBytesMax));
}

}  // namespace
}  // namespace rdcp::cli
