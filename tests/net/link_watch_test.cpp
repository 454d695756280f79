#include "net/link_watch.h"

#include <gtest/gtest.h>

namespace rdcp::net {
namespace {

constexpr double kPacks = 400e6;

// A connection as the kernel would count it, 50 ms at a time.
class Link {
 public:
  // What went over it, and how much of the time it was busy, and waited for the receiver.
  bool step(double bytes_per_second, double busy, double receiver = 0) {
    constexpr double kSeconds = 0.05;
    sample_.at += std::chrono::milliseconds(50);
    sample_.acked_bytes += static_cast<std::uint64_t>(bytes_per_second * kSeconds);
    sample_.busy_us += static_cast<std::uint64_t>(busy * kSeconds * 1e6);
    sample_.receiver_us += static_cast<std::uint64_t>(receiver * kSeconds * 1e6);
    EXPECT_TRUE(watch_.due(sample_.at));
    watch_.take(sample_, kPacks);
    EXPECT_FALSE(watch_.due(sample_.at));
    return watch_.is_slow();
  }

 private:
  LinkWatch watch_;
  LinkWatch::Sample sample_{};
};

TEST(LinkWatch, ABusySlowLinkIsSlow) {
  Link link;
  EXPECT_FALSE(link.step(0, 0));
  EXPECT_TRUE(link.step(118e6, 1));
  EXPECT_TRUE(link.step(118e6, 0.9));
}

TEST(LinkWatch, ALinkThatIsFasterThanTheCompressorIsNot) {
  Link link;
  link.step(0, 0);
  EXPECT_FALSE(link.step(1.2e9, 1));
  EXPECT_FALSE(link.step(300e6, 1));
}

TEST(LinkWatch, ASlowReceiverOrSourceIsNoSlowLink) {
  Link link;
  link.step(0, 0);
  EXPECT_FALSE(link.step(118e6, 1, 0.8));
  EXPECT_FALSE(link.step(118e6, 0.3));
  EXPECT_FALSE(link.step(0, 0));
}

// Packed, the stream leaves the link idle at times; that is no reason to stop, but to look again later.
TEST(LinkWatch, StaysSlowWhilePackingRelievesIt) {
  Link link;
  link.step(0, 0);
  ASSERT_TRUE(link.step(118e6, 1));
  for (int i = 0; i < 90; ++i) EXPECT_TRUE(link.step(60e6, 0.4)) << i;
  bool slow = true;
  for (int i = 0; i < 20; ++i) slow = link.step(60e6, 0.4);
  EXPECT_FALSE(slow);
  EXPECT_TRUE(link.step(118e6, 1));
}

TEST(LinkWatch, BecomesFastWhenTheLinkDoes) {
  Link link;
  link.step(0, 0);
  ASSERT_TRUE(link.step(118e6, 1));
  EXPECT_FALSE(link.step(1.2e9, 1));
}

}  // namespace
}  // namespace rdcp::net
