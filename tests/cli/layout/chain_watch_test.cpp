#include "cli/layout/chain_watch.h"

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
  watch.lose_way_to(1, "reset", now);        // from 4
  watch.lose_way_behind(0, 0, "gone", now);  // to 4
  EXPECT_EQ(states(), (std::vector{State::again, State::again, State::again, State::again, State::suspect}));
  EXPECT_EQ(watch.outcomes()[4].cause, "reset");
}

TEST_F(ChainWatchTest, TheHostBehindOneBrokenLinkIsSuspect) {
  watch.lose_way_behind(2, 0, "gone", now);
  EXPECT_EQ(watch.outcomes()[0].state, State::suspect);
  watch.lose_way_to(2, "reset", now);
  EXPECT_EQ(watch.outcomes()[2].state, State::suspect);  // the first one: it is on both sides of it, too
  EXPECT_EQ(watch.outcomes()[0].state, State::again);
}

// As where no host reaches another one.
TEST_F(ChainWatchTest, BrokenLinksHaveAsFewSuspectsAsExplainThem) {
  for (const std::size_t host : {2u, 0u, 4u}) watch.lose_way_behind(host, 0, "refused", now);
  EXPECT_EQ(states(),
            (std::vector{State::suspect, State::suspect, State::again, State::again, State::again}));
}

TEST_F(ChainWatchTest, WhereAHostIsLostNoOtherIsSuspect) {
  watch.lose_way_behind(2, 0, "gone", now);
  watch.break_at(0, now);
  watch.fail(0, 4, "lost");
  EXPECT_EQ(states(), (std::vector{State::failed, State::again, State::again, State::again, State::again}));
}

// Each host that gets nothing ends its streams to the next one, so all behind a break complain.
TEST_F(ChainWatchTest, HostsFarBehindABreakAreNotSuspect) {
  for (const std::size_t host : {1u, 4u, 0u}) watch.starve(host, "the streams were lost", now);
  EXPECT_EQ(states(), (std::vector{State::suspect, State::again, State::again, State::again, State::again}));
  watch.lose_way_behind(0, 0, "gone", now);  // who sends knows better
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

TEST_F(ChainWatchTest, ASlowHostEndsTheChainAndNoOtherIsSuspect) {
  watch.set_aside(0, "slower than the others", now);
  watch.lose_way_to(4, "reset", now);
  EXPECT_EQ(states(), (std::vector{State::slow, State::again, State::again, State::again, State::again}));
  EXPECT_EQ(watch.outcomes()[0].cause, "slower than the others");
  EXPECT_TRUE(watch.is_broken());
  EXPECT_EQ(watch.failed(), 0u);
}

TEST_F(ChainWatchTest, AHostThatHasFailedIsNotSlow) {
  watch.fail(4, 1, "full");
  watch.set_aside(4, "slower than the others", now);
  EXPECT_EQ(watch.outcomes()[4].state, State::failed);
}

TEST_F(ChainWatchTest, WhatIsNotInTheChainDoesNotBreakIt) {
  watch.break_at(3, now);
  watch.lose_way_to(3, "x", now);
  watch.lose_way_behind(1, 0, "x", now);  // the last one
  EXPECT_FALSE(watch.is_broken());
}

TEST_F(ChainWatchTest, OthersAreWaitedForBeforeItIsOver) {
  EXPECT_FALSE(watch.is_over(now + ChainWatch::kGrace));
  watch.lose_way_behind(2, 0, "gone", now);
  EXPECT_TRUE(watch.is_broken());
  EXPECT_FALSE(watch.is_over(now + ChainWatch::kGrace / 2));
  watch.lose_way_behind(0, 0, "gone", now + ChainWatch::kGrace / 2);  // the time runs from the first
  EXPECT_TRUE(watch.is_over(now + ChainWatch::kGrace));
}

TEST_F(ChainWatchTest, WhereAHostIsLostOthersAreNotWaitedForAsLong) {
  watch.lose_way_behind(2, 0, "gone", now);
  watch.break_at(0, now + ChainWatch::kGrace / 4);
  EXPECT_FALSE(watch.is_over(now + ChainWatch::kGrace / 4 + ChainWatch::kGraceOfLost / 2));
  EXPECT_TRUE(watch.is_over(now + ChainWatch::kGrace / 4 + ChainWatch::kGraceOfLost));
}

TEST_F(ChainWatchTest, AHostThatIsOnlyDoubtedEndsNothingEarlier) {
  watch.doubt(0, "no sign of life", now);
  EXPECT_TRUE(watch.is_broken());
  EXPECT_FALSE(watch.is_over(now + ChainWatch::kGrace / 2));
  EXPECT_TRUE(watch.is_over(now + ChainWatch::kGrace));
}

TEST(ChainWatchOfOne, IsNoChain) {
  EXPECT_FALSE(ChainWatch(1).several());
  EXPECT_TRUE(ChainWatch(2).several());
}

// Of seven hosts 6 is the root, 5 and 4 are its children, and each of these has two more.
struct WatchedTreeTest : testing::Test {
  ChainWatch watch{7};
  const ChainWatch::Clock::time_point now = ChainWatch::Clock::now();

  WatchedTreeTest() { watch.set_order({6, 5, 4, 3, 2, 1, 0}, 2); }
  std::vector<std::size_t> suspects() {
    std::vector<std::size_t> suspects;
    const auto outcomes = watch.outcomes();
    for (std::size_t host = 0; host < outcomes.size(); ++host)
      if (outcomes[host].state == State::suspect) suspects.push_back(host);
    return suspects;
  }
};

TEST_F(WatchedTreeTest, EachHostHasAParent) {
  EXPECT_EQ(watch.parent_of(6), std::nullopt);
  EXPECT_EQ(watch.parent_of(4), 6u);
  EXPECT_EQ(watch.parent_of(2), 5u);
  EXPECT_EQ(watch.parent_of(0), 4u);
}

TEST_F(WatchedTreeTest, TheHostBehindALostBranchIsSuspect) {
  watch.lose_way_behind(6, 1, "reset", now);
  EXPECT_EQ(suspects(), (std::vector<std::size_t>{4}));
}

TEST_F(WatchedTreeTest, TheHostWithLostBranchesOnBothSidesIsSuspect) {
  watch.lose_way_behind(5, 1, "reset", now);  // to 2
  watch.lose_way_behind(6, 0, "reset", now);  // to 5
  EXPECT_EQ(suspects(), (std::vector<std::size_t>{5}));
}

TEST_F(WatchedTreeTest, BranchesThatAreLostApartHaveASuspectEach) {
  watch.lose_way_behind(5, 0, "reset", now);  // to 3
  watch.lose_way_behind(4, 1, "reset", now);  // to 0
  EXPECT_EQ(suspects(), (std::vector<std::size_t>{0, 3}));
}

TEST_F(WatchedTreeTest, TheBreakIsAboveAllThatStarve) {
  for (const std::size_t host : {1u, 0u, 4u}) watch.starve(host, "the streams were lost", now);
  EXPECT_EQ(suspects(), (std::vector<std::size_t>{4}));
}

TEST_F(WatchedTreeTest, ABranchThatDoesNotExistIsNoSign) {
  watch.lose_way_behind(3, 0, "reset", now);   // it has nobody behind it
  watch.lose_way_behind(6, 15, "reset", now);  // there are two
  EXPECT_FALSE(watch.is_broken());
}

}  // namespace
}  // namespace rdcp::cli
