#include "tree/source/rate_limiter.h"

#include <gtest/gtest.h>

namespace rdcp::tree {
namespace {

using std::chrono::milliseconds;

constexpr io::Clock::time_point kStart{std::chrono::hours(1)};

TEST(RateLimiter, ChunksTakeTheirTurnsAtTheRate) {
  RateLimiter limiter(1000);
  EXPECT_EQ(limiter.reserve(500, kStart), kStart) << "the first does not wait";
  EXPECT_EQ(limiter.reserve(100, kStart), kStart + milliseconds(500));
  EXPECT_EQ(limiter.reserve(1, kStart + milliseconds(10)), kStart + milliseconds(600));
}

TEST(RateLimiter, TimeInWhichNothingWasSentIsNotMadeUpFor) {
  RateLimiter limiter(1000);
  (void)limiter.reserve(100, kStart);
  const auto later = kStart + std::chrono::seconds(60);
  EXPECT_EQ(limiter.reserve(100, later), later);
  EXPECT_EQ(limiter.reserve(100, later), later + milliseconds(100));
}

TEST(RateLimiter, WithoutALimitNobodyWaits) {
  RateLimiter limiter(0);
  for (int i = 0; i < 3; ++i) EXPECT_LT(limiter.reserve(1ULL << 40), io::Clock::now());
}

}  // namespace
}  // namespace rdcp::tree
