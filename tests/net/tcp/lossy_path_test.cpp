#include "net/tcp/lossy_path.h"

#include <gtest/gtest.h>

namespace rdcp::net {
namespace {

using std::chrono::milliseconds;

// A path of 100 ms, seen once in each second.
class LossyPathTest : public testing::Test {
 protected:
  bool second(std::uint32_t lost, milliseconds round_trip) {
    sent_again += lost;
    return path.take({.sent_again = sent_again, .round_trip = round_trip, .shortest_trip = shortest});
  }

  LossyPath path;
  std::uint32_t sent_again = 0;
  milliseconds shortest{100};
};

TEST_F(LossyPathTest, LossesWithoutAQueueAreThePaths) {
  EXPECT_FALSE(second(1, milliseconds(101)));
  EXPECT_FALSE(second(0, milliseconds(101)));  // says nothing
  EXPECT_FALSE(second(2, milliseconds(110)));
  EXPECT_TRUE(second(1, milliseconds(101)));
}

TEST_F(LossyPathTest, LossesOfAFullQueueAreNot) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(second(20, milliseconds(180)));
}

TEST_F(LossyPathTest, AQueueThatIsSeenTakesASecondBack) {
  EXPECT_FALSE(second(1, milliseconds(101)));
  EXPECT_FALSE(second(1, milliseconds(101)));
  EXPECT_FALSE(second(1, milliseconds(160)));
  EXPECT_FALSE(second(1, milliseconds(101)));
  EXPECT_TRUE(second(1, milliseconds(101)));
}

TEST_F(LossyPathTest, WithoutLossesThereIsNothingToJudge) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(second(0, milliseconds(101)));
}

TEST_F(LossyPathTest, AShortPathMendsItself) {
  shortest = milliseconds(2);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(second(5, milliseconds(2)));
}

}  // namespace
}  // namespace rdcp::net
