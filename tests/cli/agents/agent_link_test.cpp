#include "cli/agents/agent_link.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <thread>

#include "tree/messages/paths_named.h"

namespace rdcp::cli {
namespace {

using io::Result;
using tree::MessageType;

// A coordinator's end, and an agent that says what it likes at the other one.
struct AgentLinkTest : testing::Test {
  AgentLinkTest() {
    ::signal(SIGPIPE, SIG_IGN);
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    auto ours = AgentLink::of_connection(io::Fd(ends[0]), "host1", "is gone");
    EXPECT_TRUE(ours);
    link = std::move(*ours);
    agent.emplace(io::Fd(ends[1]), io::Fd(::fcntl(ends[1], F_DUPFD_CLOEXEC, 0)), "coordinator");
    say(tree::Hello());
    EXPECT_TRUE(link->receive());
  }
  ~AgentLinkTest() override {
    agent.reset();
    link->end(true);
  }
  template <class Message>
  void say(const Message& message) {
    EXPECT_TRUE(agent->send(message));
  }
  template <class Message>
  Result<void> hear(const Message& message) {
    say(message);
    return link->receive();
  }
  template <class Message>
  void expect_refused(const Message& message, const std::string& name) {
    const auto heard = hear(message);
    ASSERT_FALSE(heard) << name;
    EXPECT_EQ(heard.error().kind, io::ErrorKind::protocol);
    EXPECT_EQ(heard.error().message(), "control message from host1: '" + name + "' was not asked for");
  }

  std::unique_ptr<AgentLink> link;
  std::optional<tree::ControlChannel> agent;
};

tree::Listed page(std::size_t entries) {
  tree::Listed page;
  page.entries.resize(entries);
  return page;
}

TEST_F(AgentLinkTest, WhatWasNotAskedForIsRefused) {
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

TEST_F(AgentLinkTest, ACopyHasNoUseForWhatOtherJobsAnswer) {
  link->tell(tree::SourceJob());
  EXPECT_TRUE(hear(tree::SourceReady()));
  link->tell(tree::Begin());
  EXPECT_TRUE(hear(tree::Sums()));
  expect_refused(page(1), "listed");
  expect_refused(tree::RelayedBytes{.bytes = "x"}, "relayed_bytes");
  expect_refused(tree::Leftovers(), "leftovers");
  expect_refused(tree::Changes(), "changes");
  EXPECT_TRUE(hear(tree::Done()));
  expect_refused(tree::Done(), "done");
}

TEST_F(AgentLinkTest, PagesAreAsManyAsWereAskedFor) {
  link->tell(tree::ListJob());
  link->tell(tree::ListMore{.pages = 2});
  EXPECT_TRUE(hear(page(1)));
  EXPECT_TRUE(hear(page(1)));
  EXPECT_EQ(link->listed.take().size(), 2u);
  expect_refused(page(1), "listed");
}

// As where nobody takes it.
TEST_F(AgentLinkTest, WhatNobodyTakesIsBounded) {
  link->tell(tree::SegmentJob());
  const tree::RelayedBytes bytes{.bytes = std::string(1 << 20, 'x')};
  std::thread flood([&] {
    while (agent->send(bytes)) {
    }
  });
  Result<void> heard;
  while (heard) heard = link->receive();
  EXPECT_EQ(heard.error().kind, io::ErrorKind::protocol);
  EXPECT_NE(heard.error().message().find("'relayed_bytes' comes faster than it can be taken"),
            std::string::npos);
  EXPECT_LE(link->relayed.take().size(), Inbox<tree::RelayedBytes>::kBytesMax / bytes.bytes.size());
  ::shutdown(link->control().fd(), SHUT_RDWR);
  flood.join();
}

TEST_F(AgentLinkTest, WhatIsTakenMakesRoom) {
  link->tell(tree::SegmentJob());
  const tree::RelayedBytes bytes{.bytes = std::string(1 << 20, 'x')};
  std::thread talk([&] {
    for (int i = 0; i < 64; ++i) EXPECT_TRUE(agent->send(bytes));
  });
  for (std::size_t taken = 0; taken < 64; taken += link->relayed.take().size()) {
    ASSERT_TRUE(link->receive());
  }
  talk.join();
}

TEST(Inbox, ManyPartsWithoutAByteAreBoundedToo) {
  Inbox<char> inbox;
  EXPECT_TRUE(inbox.add(std::vector<char>(Inbox<char>::kItemsMax), 0));
  EXPECT_FALSE(inbox.add(std::vector<char>(1), 0));
  EXPECT_EQ(inbox.take().size(), Inbox<char>::kItemsMax);
  EXPECT_FALSE(inbox.add({}, Inbox<char>::kBytesMax + 1));
  EXPECT_TRUE(inbox.add(std::vector<char>(1), Inbox<char>::kBytesMax));
}

}  // namespace
}  // namespace rdcp::cli
