#include "io/extent_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace rdcp::io {
namespace {

TEST(ExtentSetTest, WhatIsAddedIsThereUntilItIsRemoved) {
  ExtentSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.has_any_before(100));
  set.add({10, 20});
  EXPECT_TRUE(set.covers({10, 20}));
  EXPECT_FALSE(set.covers({9, 2}));
  EXPECT_FALSE(set.covers({29, 2}));
  EXPECT_FALSE(set.has_any_before(10));
  EXPECT_TRUE(set.has_any_before(11));
  set.remove({0, 29});
  EXPECT_FALSE(set.has_any_before(29));
  EXPECT_TRUE(set.has_any_before(30));
  set.remove({29, 5});
  EXPECT_TRUE(set.empty());
}

// Returns how many runs of true there are.
std::size_t runs_of(const std::vector<bool>& bytes) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) count += bytes[i] && (i == 0 || !bytes[i - 1]);
  return count;
}

// Every sequence of additions and removals leaves what a bit for each byte would say, in as few extents.
TEST(ExtentSetTest, AnyOrderLeavesTheSameBytes) {
  constexpr std::size_t kBytes = 64;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    ExtentSet set;
    std::vector<bool> model(kBytes);
    for (int step = 0; step < 60; ++step) {
      const std::size_t offset = random() % kBytes;
      const std::size_t length = random() % (kBytes - offset + 1);
      const bool adds = random() % 2 == 0;
      if (adds) {
        set.add({offset, length});
      } else {
        set.remove({offset, length});
      }
      std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(offset), length, adds);
      ASSERT_EQ(set.count(), runs_of(model)) << seed;
      for (std::size_t i = 0; i < kBytes; ++i) ASSERT_EQ(set.covers({i, 1}), model[i]) << seed << " at " << i;
      const auto first = static_cast<std::size_t>(std::ranges::find(model, true) - model.begin());
      ASSERT_FALSE(set.has_any_before(first)) << seed;
      ASSERT_EQ(set.has_any_before(first + 1), first < kBytes) << seed;
    }
  }
}

TEST(ExtentSetTest, AnExtentIsCoveredByOneThatHasAllOfIt) {
  ExtentSet set;
  set.add({10, 10});
  set.add({30, 10});
  EXPECT_FALSE(set.covers({10, 30}));
  set.add({20, 10});  // touches both
  EXPECT_EQ(set.count(), 1u);
  EXPECT_TRUE(set.covers({10, 30}));
}

}  // namespace
}  // namespace rdcp::io
