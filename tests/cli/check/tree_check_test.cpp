#include "cli/check/tree_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>

#include "cli/text/exit_status.h"
#include "io/thread.h"
#include "tests/cli/fake_agent.h"
#include "tests/cli/standard_output.h"

namespace rdcp::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tree::EntryType;

constexpr std::chrono::seconds kLong{60};
constexpr std::uint64_t kMiB = 1 << 20;

tree::ListedEntry entry(const std::string& path, std::uint64_t size) {
  tree::ListedEntry made;
  made.type = path.empty() ? EntryType::directory : EntryType::file;
  made.path = path;
  made.size = size;
  return made;
}

// A check in a thread of its own, between agents that say what a test wants: the source's, and three hosts'.
struct TreeCheckTest : testing::Test {
  static constexpr std::size_t kHosts = 3;
  TreeCheckTest() {
    options.sources.emplace_back();
    options.sources.front().path = "src";
    for (std::size_t i = 0; i < kHosts; ++i) {
      auto print = [this](std::string_view line) { return lines.emplace_back(line), io::Result<void>(); };
      hosts.push_back({Location{}, Differences(false, "h" + std::to_string(i + 1), print)});
      hosts.back().place.path = "dst";
    }
    party.emplace(options, -1, nullptr);
    for (std::size_t i = 0; i <= kHosts; ++i) {
      FakeAgent& agent = agents.emplace_back(i == 0 ? "source" : "h" + std::to_string(i));
      agent.say(tree::Hello());
      party->add(std::move(agent.session), i == 0 ? nullptr : &hosts[i - 1]);
    }
  }
  void start() {
    auto started = io::Thread::start("the check", [this] {
      whole = TreeCheck(options, *party).run();
      status = party->status();
      party.reset();
    });
    ASSERT_TRUE(started);
    thread = std::move(*started);
  }
  void finish() {
    agents.clear();
    thread.join();
    said = standard_error.text();
  }
  // Takes what the check says to an agent until a message of this kind comes.
  template <class Message>
  Message hear(std::size_t agent) {
    for (;;) {
      const auto raw = agents[agent].channel->wait(std::chrono::steady_clock::now() + kLong);
      EXPECT_TRUE(raw) << "instead of " << static_cast<int>(Message::kType);
      if (!raw) return {};
      if (raw->type == Message::kType) return *agents[agent].channel->decode<Message>(*raw);
    }
  }
  void list(std::size_t agent, const std::vector<tree::ListedEntry>& entries, bool over = true) {
    const auto job = hear<tree::ListJob>(agent);
    agents[agent].say(tree::Listed{.job = job.number, .entries = entries, .over = over});
  }
  // Answers the next question, for one item, with digests that are zero but for the one of this number.
  tree::SumItem answer(std::size_t agent, std::optional<std::size_t> differs = {}) {
    const auto ask = hear<tree::SumAsk>(agent);
    EXPECT_EQ(ask.items.size(), 1u);
    const tree::SumItem& item = ask.items.front();
    tree::SumFound found;
    found.size = kSize;
    found.digests.resize(item.unit == 0 ? 1 : (item.length + item.unit - 1) / item.unit);
    if (differs) found.digests.at(*differs).fill(std::byte{1});
    agents[agent].say(tree::SumTold{.id = ask.id, .found = {found}});
    return item;
  }

  static constexpr std::uint64_t kSize = 3 * kMiB;
  const std::vector<tree::ListedEntry> all{entry("", 0), entry("a", 0), entry("large", kSize)};
  Redirected standard_error{STDERR_FILENO};
  Options options;
  std::vector<std::string> lines;
  std::deque<CheckedHost> hosts;
  std::optional<CheckParty> party;
  std::deque<FakeAgent> agents;
  bool whole = false;
  int status = -1;
  std::string said;
  io::Thread thread;
};

TEST_F(TreeCheckTest, TheSourceIsAskedOnceForAllHosts) {
  start();
  for (std::size_t agent = 0; agent <= kHosts; ++agent) list(agent, all);
  for (std::size_t agent = 0; agent <= kHosts; ++agent) EXPECT_EQ(answer(agent).length, kSize);
  hear<tree::Finish>(0);  // and nothing else was asked
  finish();
  EXPECT_TRUE(whole);
  EXPECT_EQ(status, kExitOk);
  EXPECT_THAT(lines, IsEmpty());
  EXPECT_EQ(hosts[2].counts.entries, 3u);
  EXPECT_EQ(hosts[2].counts.bytes, kSize);
}

TEST_F(TreeCheckTest, HostsThatDifferInOnePlaceAreAskedTogether) {
  start();
  for (std::size_t agent = 0; agent <= kHosts; ++agent) list(agent, all);
  answer(0);
  answer(1, 2);
  answer(2);
  answer(3, 2);
  for (std::uint64_t length = kMiB; length > 1; length = (length + tree::kSumsMax - 1) / tree::kSumsMax) {
    for (const std::size_t agent : {0, 1, 3}) {
      const tree::SumItem item = answer(agent, agent == 0 ? std::nullopt : std::optional(0));
      EXPECT_EQ(item.offset, 2 * kMiB);
      EXPECT_EQ(item.length, length);
    }
  }
  hear<tree::Finish>(2);
  finish();
  EXPECT_TRUE(whole);
  EXPECT_THAT(lines, ElementsAre("h1: content   large: first at offset 2097152\n",
                                 "h3: content   large: first at offset 2097152\n"));
  EXPECT_EQ(hosts[0].differences.count(), 1u);
  EXPECT_EQ(hosts[1].differences.count(), 0u);
}

TEST_F(TreeCheckTest, EachHostHasItsOwnDifferences) {
  start();
  list(0, all);
  list(1, {entry("", 0), entry("a", 1), entry("large", 7)});
  list(2, {entry("", 0), entry("a", 0)});
  list(3, {});
  hear<tree::Finish>(0);
  finish();
  EXPECT_TRUE(whole);
  EXPECT_THAT(lines,
              testing::UnorderedElementsAre("h1: size      a: 0, 1\n", "h1: size      large: 3145728, 7\n",
                                            "h2: missing   large\n", "h3: missing   .\n"));
}

TEST_F(TreeCheckTest, OneThatIsLostHoldsNobody) {
  start();
  list(0, all);
  list(1, all);
  list(3, all);
  list(2, {entry("", 0)}, false);
  agents[2].channel.reset();
  for (const std::size_t agent : {0, 1, 3}) answer(agent);
  hear<tree::Finish>(1);
  finish();
  EXPECT_TRUE(whole);
  EXPECT_EQ(status, kExitOk);
  EXPECT_EQ(hosts[1].status, kExitConnection);
  EXPECT_THAT(hosts[1].cause, HasSubstr("is gone"));
  EXPECT_THAT(said, HasSubstr("h2"));
  EXPECT_EQ(hosts[0].status, kExitOk);
}

TEST_F(TreeCheckTest, OneThatIsLostBeforeItsAnswerHoldsNobody) {
  start();
  for (std::size_t agent = 0; agent <= kHosts; ++agent) list(agent, all);
  for (const std::size_t agent : {0, 1, 3}) answer(agent);
  hear<tree::SumAsk>(2);
  agents[2].channel.reset();
  hear<tree::Finish>(1);
  finish();
  EXPECT_TRUE(whole);
  EXPECT_EQ(hosts[1].status, kExitConnection);
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(TreeCheckTest, OneThatMakesNoSenseIsLeftOut) {
  start();
  list(0, all);
  list(1, {entry("", 0), entry("b", 0), entry("a", 0)});
  list(2, all);
  list(3, all);
  answer(0);
  answer(2);
  const auto ask = hear<tree::SumAsk>(3);
  agents[3].say(tree::SumTold{.id = ask.id + 1, .found = {tree::SumFound()}});
  hear<tree::Finish>(2);
  finish();
  EXPECT_TRUE(whole);
  EXPECT_THAT(hosts[0].cause, HasSubstr("its list is not in order"));
  EXPECT_THAT(hosts[2].cause, HasSubstr("a question that was not asked"));
  EXPECT_EQ(hosts[1].cause, "");
}

TEST_F(TreeCheckTest, AProblemOfOneHostIsItsOwn) {
  start();
  for (std::size_t agent = 0; agent <= kHosts; ++agent) {
    if (agent == 1) agents[1].say(tree::Problem{io::ErrorKind::file, false, "cannot read this"});
    if (agent == 2) agents[2].say(tree::Problem{io::ErrorKind::file, true, "cannot go on"});
    list(agent, {entry("", 0)}, agent != 2);
  }
  hear<tree::Finish>(1);
  finish();
  EXPECT_TRUE(whole);
  EXPECT_EQ(status, kExitOk);
  EXPECT_EQ(hosts[0].status, kExitFiles);
  EXPECT_EQ(hosts[0].cause, "");
  EXPECT_EQ(hosts[1].cause, "cannot go on");
  EXPECT_EQ(hosts[2].status, kExitOk);
  EXPECT_THAT(said, HasSubstr("rdcp: h1: cannot read this\n"));
}

TEST_F(TreeCheckTest, WithoutTheSourceNothingGoesOn) {
  start();
  for (std::size_t agent = 1; agent <= kHosts; ++agent) list(agent, all);
  agents[0].channel.reset();
  finish();
  EXPECT_FALSE(whole);
  EXPECT_EQ(status, kExitConnection);
  EXPECT_THAT(said, HasSubstr("source"));
}

TEST_F(TreeCheckTest, TheLastHostEndsTheCheck) {
  start();
  list(0, all);
  for (std::size_t agent = 1; agent <= kHosts; ++agent) agents[agent].channel.reset();
  hear<tree::Finish>(0);
  finish();
  EXPECT_FALSE(whole);
  for (const CheckedHost& host : hosts) EXPECT_EQ(host.status, kExitConnection);
}

TEST_F(TreeCheckTest, AFileThatAllHaveInADirectoryOfItsName) {
  start();
  list(0, {tree::ListedEntry()});
  list(1, {entry("", 0)});
  EXPECT_EQ(hear<tree::ListJob>(1).path, "dst/src");
  agents[1].say(tree::Listed{.job = 2, .entries = {entry("", 0)}, .over = true});  // a directory, too
  list(2, {entry("", 0)});
  EXPECT_EQ(hear<tree::ListJob>(2).path, "dst/src");
  agents[2].say(tree::Listed{.job = 2, .entries = {}, .over = true});
  list(3, {tree::ListedEntry()});
  hear<tree::Finish>(0);
  finish();
  EXPECT_TRUE(whole);
  EXPECT_THAT(lines,
              testing::UnorderedElementsAre("h1: type      .: file, directory\n", "h2: missing   .\n"));
}

}  // namespace
}  // namespace rdcp::cli
