#include "cli/check/check_party.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>

#include "cli/text/exit_status.h"
#include "tests/cli/fake_agent.h"
#include "tests/cli/standard_output.h"

namespace rdcp::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct CheckPartyTest : testing::Test {
  CheckPartyTest() {
    for (std::size_t i = 0; i < 4; ++i) {
      if (i > 0) hosts.push_back({Location{}, Differences(false, "", nullptr)});
      FakeAgent& agent = agents.emplace_back(i == 0 ? "source" : "h" + std::to_string(i));
      agent.say(tree::Hello());
      party.add(std::move(agent.session), i == 0 ? nullptr : &hosts.back());
    }
    EXPECT_TRUE(party.turn());
  }
  // An agent that is gone is not waited for.
  ~CheckPartyTest() override {
    for (FakeAgent& agent : agents) agent.channel.reset();
  }
  void ask(const std::vector<std::size_t>& of) {
    party.ask({"f", 0, std::uint64_t{64} << 20, 1 << 20}, 1, of, [this](const Replies& replies) {
      replied.clear();
      for (const Reply& reply : replies) replied.push_back(reply.agent);
    });
  }

  Redirected standard_error{STDERR_FILENO};
  const Options options;
  std::deque<CheckedHost> hosts;
  std::deque<FakeAgent> agents;
  CheckParty party{options, -1, nullptr};
  std::vector<std::size_t> replied;
};

TEST_F(CheckPartyTest, QuestionsTakeBoundedMemory) {
  std::size_t asked = 0;
  for (; party.room(); ++asked) ask({0, 1, 2, 3});
  const std::size_t of_digests = asked * 4 * 64 * sizeof(io::Digest);
  EXPECT_LE(of_digests, CheckParty::kAskedBytesMax);
  EXPECT_GE(of_digests, CheckParty::kAskedBytesMax / 2) << "all of it can be used";
}

TEST_F(CheckPartyTest, QuestionsDoNotWaitForThoseWhoTakeNoPart) {
  ask({0, 2});
  party.dismiss(2);
  EXPECT_FALSE(party.takes_part(2));
  EXPECT_THAT(party.hosts(), ElementsAre(1, 3));
  EXPECT_FALSE(party.idle()) << "the source has not answered";
  ask({2});
  party.give_up(1, io::plain_error(io::ErrorKind::connection, "talk to", "h1", "it is gone"));
  EXPECT_THAT(party.hosts(), ElementsAre(3));
  EXPECT_EQ(hosts[0].status, kExitConnection);
  EXPECT_EQ(hosts[0].cause, "talk to h1: it is gone");
  EXPECT_EQ(standard_error.text(), "rdcp: talk to h1: it is gone\n");
  EXPECT_FALSE(party.is_over());
}

TEST_F(CheckPartyTest, FewerPagesOfEachAreUnderWayWhereThereAreManyHosts) {
  EXPECT_EQ(CheckParty::pages_for(1), CheckParty::kPages);
  EXPECT_LT(CheckParty::pages_for(200), CheckParty::kPages);
}

}  // namespace
}  // namespace rdcp::cli
