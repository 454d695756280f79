// Over how many streams a copy goes, on paths that are made up: how fast each number of streams is, is given.
#include "tree/streams/stream_growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace rdcp::tree {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Bytes of a second over so many streams, at that second since the copy began.
using Path = std::function<double(std::size_t streams, double second)>;

constexpr double kMB = 1e6;
constexpr milliseconds kLook{50};

class GrowthTest : public testing::Test {
 protected:
  // The copy goes on for that time. Those who are to join need that long.
  void copy(StreamGrowth& growth, seconds time, const Path& path, milliseconds join = milliseconds(100)) {
    for (const auto end = now_ + time; now_ < end; now_ += kLook) {
      if (living_ < used_ && now_ >= joined_at_) living_ = used_;
      const double second = std::chrono::duration<double>(now_ - begun_).count();
      bytes_ += path(std::min(living_, used_), second) * std::chrono::duration<double>(kLook).count();
      const auto wanted = growth.take(now_, static_cast<std::uint64_t>(bytes_), living_);
      if (!wanted) continue;
      used_ = *wanted;
      used_so_far_.push_back(used_);
      if (living_ < used_) joined_at_ = now_ + join;
    }
  }
  std::size_t most_used() const { return *std::ranges::max_element(used_so_far_); }

  StreamGrowth::Clock::time_point now_ = StreamGrowth::Clock::now();
  const StreamGrowth::Clock::time_point begun_ = now_;
  StreamGrowth::Clock::time_point joined_at_;
  std::size_t living_ = 2, used_ = 2;
  std::vector<std::size_t> used_so_far_{2};
  double bytes_ = 0;
};

// Each stream has 4 MiB in flight for 40 ms, until the disk can do no more.
TEST_F(GrowthTest, BytesInFlightFollowTheTimeForWhichTheyAreHeld) {
  StreamGrowth growth(64);
  const auto held = [](std::size_t streams, double) {
    return std::min(static_cast<double>(streams) * 4 * 1048576 / 0.04, 800 * kMB);
  };
  copy(growth, seconds(30), held);
  // 800 MB/s for 40 ms are 32 MB, which are 7.6 streams; from 6, the next step is to 9.
  EXPECT_EQ(used_, 9u);
  EXPECT_EQ(growth.outcome(), "9 streams were faster than 2");
}

TEST_F(GrowthTest, NoMoreThanThereMayBe) {
  StreamGrowth growth(5);
  copy(growth, seconds(30), [](std::size_t streams, double) { return static_cast<double>(streams) * kMB; });
  EXPECT_EQ(used_, 5u);
}

TEST_F(GrowthTest, WhereSomethingElseIsTheLimitTheyRest) {
  StreamGrowth growth(64);
  copy(growth, seconds(5), [](std::size_t, double) { return 100 * kMB; });
  EXPECT_EQ(used_so_far_, (std::vector<std::size_t>{2, 3, 2}));
  EXPECT_EQ(growth.outcome(), "more streams than 2 were not faster");
}

TEST_F(GrowthTest, MoreThatAreSlowerRest) {
  StreamGrowth growth(64);
  copy(growth, seconds(5),
       [](std::size_t streams, double) { return 100 * kMB / static_cast<double>(streams); });
  EXPECT_EQ(used_, 2u);
}

TEST_F(GrowthTest, ItIsTriedAgainLaterAndLater) {
  StreamGrowth growth(64);
  copy(growth, seconds(3600), [](std::size_t, double) { return 100 * kMB; });
  const auto trials = std::ranges::count(used_so_far_, 3u);
  EXPECT_GE(trials, 8);
  EXPECT_LE(trials, 20);
}

// What was the limit at first, is none any more.
TEST_F(GrowthTest, APathThatGetsBetterIsNoticed) {
  StreamGrowth growth(8);
  const auto path = [](std::size_t streams, double second) {
    return second < 20 ? 50 * kMB : static_cast<double>(streams) * 50 * kMB;
  };
  copy(growth, seconds(20), path);
  EXPECT_EQ(used_, 2u);
  copy(growth, seconds(40), path);
  EXPECT_EQ(used_, 8u);
}

// TCP's slow start doubles the rate by itself: nobody may take the credit for it.
TEST_F(GrowthTest, ARateThatGrowsByItselfIsNoReason) {
  StreamGrowth growth(64);
  copy(growth, seconds(6),
       [](std::size_t, double second) { return std::min(kMB * std::exp2(second), 60 * kMB); });
  EXPECT_EQ(used_so_far_.size(), 1u);
  copy(growth, seconds(6), [](std::size_t, double) { return 60 * kMB; });
  EXPECT_EQ(used_, 2u);
}

TEST_F(GrowthTest, NoiseIsNoGain) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    StreamGrowth growth(64);
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(1.0, 0.05);
    living_ = used_ = 2;
    copy(growth, seconds(60), [&](std::size_t, double) { return 100 * kMB * noise(random); });
    EXPECT_EQ(used_, 2u) << seed;
  }
}

TEST_F(GrowthTest, AGainIsSeenThroughNoise) {
  int seen = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    StreamGrowth growth(8);
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(1.0, 0.1);
    living_ = used_ = 2;
    copy(growth, seconds(60),
         [&](std::size_t streams, double) { return static_cast<double>(streams) * kMB * noise(random); });
    seen += used_ == 8 ? 1 : 0;
  }
  EXPECT_GE(seen, 95);
}

TEST_F(GrowthTest, WhatStandsStillIsNotHelped) {
  StreamGrowth growth(64);
  copy(growth, seconds(60), [](std::size_t, double) { return 0.0; });
  EXPECT_EQ(used_so_far_.size(), 1u);
  EXPECT_EQ(growth.outcome(), "");
}

TEST_F(GrowthTest, StreamsThatDoNotComeAreNotWaitedFor) {
  StreamGrowth growth(64);
  copy(
      growth, seconds(12), [](std::size_t, double) { return 100 * kMB; }, seconds(1000));
  EXPECT_EQ(used_so_far_, (std::vector<std::size_t>{2, 3, 2}));
}

TEST_F(GrowthTest, ACopyThatIsOverBeforeTheTrialIsSaysNothing) {
  StreamGrowth growth(64);
  copy(growth, seconds(2), [](std::size_t, double) { return 100 * kMB; });
  EXPECT_EQ(most_used(), 3u);
  EXPECT_EQ(growth.outcome(), "");
}

}  // namespace
}  // namespace rdcp::tree
