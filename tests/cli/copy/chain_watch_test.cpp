#include "cli/copy/chain_watch.h"

#include <gtest/gtest.h>

namespace rdcp::cli {
namespace {

using State = HostOutcome::State;

struct ChainWatchTest : testing::Test {
  ChainWatch watch{5};
  const ChainWatch::Clock::time_point now = ChainWatch::Clock::now();

  // Host 3 is not in the chain.
  ChainWatchTest() { watch.set_order({2, 0, 4, 1}); }
  std::vector<State> states() {
    std::vector<State> states;
    for (const HostOutcome& outcome : watch.outcomes()) states.push_back(outcome.state);
    return states;
  }
};

TEST_F(ChainWatchTest, OnlyHostsOfTheChainAreDone) {
  for (const std::size_t host : {2u, 0u, 4u, 1u}) watch.finish(host);
  EXPECT_EQ(states(), (std::vector{State::done, State::done, State::done, State::again, State::done}));
  EXPECT_FALSE(watch.is_broken());
}

TEST_F(ChainWatchTest, AHostThatHasFailedIsNotDone) {
  watch.fail(4, 1, "full");
  watch.fail(4, 4, "later");
  watch.finish(4);
  EXPECT_EQ(watch.outcomes()[4].state, State::failed);
  EXPECT_EQ(watch.outcomes()[4].cause, "full");
  EXPECT_EQ(watch.outcomes()[4].status, 1);
  EXPECT_FALSE(watch.all_failed());
}

TEST_F(ChainWatchTest, TheHostOnBothSidesOfWhichItIsBrokenIsSuspect) {
  watch.lose_way_to(1, "reset", now);     // from 4
  watch.lose_way_behind(0, "gone", now);  // to 4
  EXPECT_EQ(states(), (std::vector{State::again, State::again, State::again, State::again, State::suspect}));
  EXPECT_EQ(watch.outcomes()[4].cause, "reset");
}

TEST_F(ChainWatchTest, TheHostBehindOneBrokenLinkIsSuspect) {
  watch.lose_way_behind(2, "gone", now);
  EXPECT_EQ(watch.outcomes()[0].state, State::suspect);
  watch.lose_way_to(2, "reset", now);
  EXPECT_EQ(watch.outcomes()[2].state, State::suspect);  // the first one: it is on both sides of it, too
  EXPECT_EQ(watch.outcomes()[0].state, State::again);
}

// As where no host reaches another one.
TEST_F(ChainWatchTest, BrokenLinksHaveAsFewSuspectsAsExplainThem) {
  for (const std::size_t host : {2u, 0u, 4u}) watch.lose_way_behind(host, "refused", now);
  EXPECT_EQ(states(),
            (std::vector{State::suspect, State::suspect, State::again, State::again, State::again}));
}

TEST_F(ChainWatchTest, WhereAHostIsLostNoOtherIsSuspect) {
  watch.lose_way_behind(2, "gone", now);
  watch.break_at(0, now);
  watch.fail(0, 4, "lost");
  EXPECT_EQ(states(), (std::vector{State::failed, State::again, State::again, State::again, State::again}));
}

// Each host that gets nothing ends its streams to the next one, so all behind a break complain.
TEST_F(ChainWatchTest, HostsFarBehindABreakAreNotSuspect) {
  for (const std::size_t host : {1u, 4u, 0u}) watch.starve(host, "the streams were lost", now);
  EXPECT_EQ(states(), (std::vector{State::suspect, State::again, State::again, State::again, State::again}));
  watch.lose_way_behind(0, "gone", now);  // who sends knows better
  EXPECT_EQ(states(), (std::vector{State::again, State::again, State::again, State::again, State::suspect}));
}

TEST_F(ChainWatchTest, WhatTheSourceCannotReadIsMissingEverywhere) {
  watch.raise_all(1);
  for (const std::size_t host : {2u, 0u, 4u, 1u}) watch.finish(host);
  for (const HostOutcome& outcome : watch.outcomes()) EXPECT_EQ(outcome.status, 1);
}

TEST_F(ChainWatchTest, ASilentHostIsSuspectAndNoOther) {
  watch.doubt(4, "no sign of life", now);
  watch.lose_way_to(1, "reset", now);
  EXPECT_EQ(states(), (std::vector{State::again, State::again, State::again, State::again, State::suspect}));
}

TEST_F(ChainWatchTest, WhatIsNotInTheChainDoesNotBreakIt) {
  watch.break_at(3, now);
  watch.lose_way_to(3, "x", now);
  watch.lose_way_behind(1, "x", now);  // the last one
  EXPECT_FALSE(watch.is_broken());
}

TEST_F(ChainWatchTest, OthersAreWaitedForBeforeItIsOver) {
  EXPECT_FALSE(watch.is_over(now + ChainWatch::kGrace));
  watch.lose_way_behind(2, "gone", now);
  EXPECT_TRUE(watch.is_broken());
  EXPECT_FALSE(watch.is_over(now + ChainWatch::kGrace / 2));
  watch.lose_way_behind(0, "gone", now + ChainWatch::kGrace / 2);  // the time runs from the first
  EXPECT_TRUE(watch.is_over(now + ChainWatch::kGrace));
}

TEST(ChainWatchOfOne, IsNoChain) {
  EXPECT_FALSE(ChainWatch(1).several());
  EXPECT_TRUE(ChainWatch(2).several());
}

}  // namespace
}  // namespace rdcp::cli
