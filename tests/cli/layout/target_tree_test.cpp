#include "cli/layout/target_tree.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rdcp::cli {
namespace {

using std::chrono::milliseconds;

TEST(TargetTreeTest, AFanoutOfOneIsAChain) {
  const TargetTree chain(5, 1);
  EXPECT_EQ(chain.parent(0), std::nullopt);
  for (std::size_t place = 1; place < 5; ++place) {
    EXPECT_EQ(chain.parent(place), place - 1);
    EXPECT_EQ(chain.height(place), 5 - place);
  }
  EXPECT_EQ(chain.depth(), 5u);
}

// Each target is the child of its parent, once; the parents come first, and nobody has too many children.
TEST(TargetTreeTest, EveryTargetHasAPlaceInATree) {
  for (const unsigned fanout : {1u, 2u, 3u, 16u}) {
    for (const std::size_t targets : {1u, 2u, 7u, 16u, 17u, 18u, 1000u}) {
      const TargetTree tree(targets, fanout);
      std::vector<std::size_t> children(targets);
      for (std::size_t place = 1; place < targets; ++place) {
        const std::size_t parent = *tree.parent(place);
        ASSERT_LT(parent, place);
        EXPECT_EQ(tree.child(parent, static_cast<unsigned>(children[parent]++)), place);
      }
      for (std::size_t place = 0; place < targets; ++place) {
        EXPECT_LE(children[place], fanout);
        EXPECT_EQ(tree.child(place, static_cast<unsigned>(children[place])), std::nullopt);
      }
    }
  }
}

TEST(TargetTreeTest, ItIsAsDeepAsItsLongestBranch) {
  for (const unsigned fanout : {1u, 2u, 3u, 5u}) {
    for (const std::size_t targets : {1u, 2u, 6u, 7u, 8u, 100u}) {
      const TargetTree tree(targets, fanout);
      std::size_t longest = 0;
      for (std::size_t place = 0; place < targets; ++place) {
        std::size_t levels = 1;
        for (auto above = tree.parent(place); above; above = tree.parent(*above)) ++levels;
        longest = std::max(longest, levels);
      }
      EXPECT_EQ(tree.depth(), longest) << targets << " by " << fanout;
    }
  }
  EXPECT_EQ(TargetTree(1000, 2).depth(), 10u);
  EXPECT_EQ(TargetTree(0, 2).depth(), 0u);
}

// The links of a chain carry all once; a tree pays where the way is long for its bytes.
TEST(FanoutTest, MuchDataGoesAlongAChain) {
  TreeFacts facts{
      .targets = 200, .bytes = 10'000'000'000, .round_trip = milliseconds(1), .chunk_bytes = 65536};
  EXPECT_EQ(best_fanout(facts), 1u);
  facts.bytes.reset();  // so does what is not known yet
  EXPECT_EQ(best_fanout(facts), 1u);
}

TEST(FanoutTest, LittleDataToManyHostsGoesThroughATree) {
  const TreeFacts facts{
      .targets = 1000, .bytes = 1'000'000, .round_trip = milliseconds(1), .chunk_bytes = 65536};
  EXPECT_GT(best_fanout(facts), 1u);
}

TEST(FanoutTest, LongRoundTripsAskForATree) {
  TreeFacts facts{
      .targets = 50, .bytes = 100'000'000, .round_trip = milliseconds(100), .chunk_bytes = 1 << 20};
  EXPECT_GT(best_fanout(facts), 1u);
  facts.round_trip = milliseconds(0);
  EXPECT_EQ(best_fanout(facts), 1u);
}

TEST(FanoutTest, OneTargetAndNoBytesHaveATimeToo) {
  for (const std::size_t targets : {0u, 1u, 2u}) {
    const TreeFacts facts{.targets = targets, .bytes = 0};
    EXPECT_EQ(best_fanout(facts), 1u) << targets;
    EXPECT_TRUE(std::isfinite(expected_time(facts, 1).count()));
  }
}

}  // namespace
}  // namespace rdcp::cli
