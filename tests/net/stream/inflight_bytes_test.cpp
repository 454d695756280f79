#include "net/stream/inflight_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace rdcp::net {
namespace {

using namespace std::chrono_literals;
using Clock = InflightBytes::Clock;

constexpr std::uint64_t kMiB = 1 << 20;

Clock::time_point at(double seconds) {
  return Clock::time_point(
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
}

TEST(InflightBytes, CountsTheTimeInWhichSomethingIs) {
  InflightBytes under_way;
  under_way.posted(3, at(1));
  under_way.posted(4, at(2));
  under_way.completed(3, at(3));
  EXPECT_EQ(under_way.sample(at(3.5)).busy_us, 2'500'000u);
  EXPECT_EQ(under_way.sample(at(3.5)).queued_bytes, 4u);
  under_way.completed(4, at(4));
  EXPECT_EQ(under_way.sample(at(9)).busy_us, 3'000'000u);
  under_way.posted(1, at(10));
  const CompressionController::Sample sample = under_way.sample(at(11));
  EXPECT_EQ(sample.at, at(11));
  EXPECT_EQ(sample.acked_bytes, 7u);
  EXPECT_EQ(sample.queued_bytes, 1u);
  EXPECT_EQ(sample.busy_us, 4'000'000u);
  EXPECT_EQ(sample.receiver_us, 0u);
}

// What a stream of four slots of 1 MiB meets, in bytes a second.
struct Path {
  double link = 20e9;
  double target = 20e9;
  double source = 20e9;
  double compressor = 400e6;
  double ratio = 3;
};

// The share of chunks that a source packs in a minute of simulated time.
double packed_share(const Path& with) {
  constexpr std::size_t kSlots = 4;
  struct Completion {
    double at;
    std::uint64_t bytes;
  };
  CompressionController watch;
  InflightBytes under_way;
  std::deque<Completion> device;
  std::vector<double> credits(kSlots, 0);  // when each slot is free
  double link_free = 0, target_free = 0, now = 0;
  int chunks = 0, packed = 0;
  for (; now < 60; ++chunks) {
    now = std::max(now + kMiB / with.source, credits[chunks % kSlots]);
    for (; !device.empty() && device.front().at <= now; device.pop_front()) {
      under_way.completed(device.front().bytes, at(device.front().at));
    }
    if (watch.due(at(now))) watch.take(under_way.sample(at(now)), with.compressor);
    const auto bytes = watch.packs() ? static_cast<std::uint64_t>(kMiB / with.ratio) : kMiB;
    if (watch.packs()) ++packed;
    if (watch.packs()) now += kMiB / with.compressor;
    under_way.posted(bytes, at(now));
    watch.handed_over(kMiB, bytes);
    link_free = std::max(now, link_free) + static_cast<double>(bytes) / with.link;
    device.push_back({link_free, bytes});
    target_free = std::max(link_free, target_free) + kMiB / with.target;
    credits[chunks % kSlots] = target_free;
  }
  return static_cast<double>(packed) / chunks;
}

TEST(InflightBytes, ASlowLinkIsPackedFor) {
  EXPECT_GT(packed_share({.link = 118e6}), 0.95);
  EXPECT_GT(packed_share({.link = 5e6}), 0.85);
}

TEST(InflightBytes, AFastLinkIsNot) {
  EXPECT_EQ(packed_share({}), 0);
  EXPECT_EQ(packed_share({.link = 12e9}), 0);
  EXPECT_EQ(packed_share({.link = 300e6}), 0);
}

TEST(InflightBytes, ASlowTargetOrSourceIsNoSlowLink) {
  EXPECT_EQ(packed_share({.link = 1e9, .target = 100e6}), 0);
  EXPECT_EQ(packed_share({.link = 250e6, .target = 100e6}), 0);
  EXPECT_EQ(packed_share({.link = 250e6, .source = 100e6}), 0);
}

// Little slower than the link: that it is busy for most of the time is a reason to try.
TEST(InflightBytes, ATargetThatIsALittleSlowerIsTriedOnly) {
  EXPECT_LT(packed_share({.link = 120e6, .target = 100e6}), 0.05);
}

}  // namespace
}  // namespace rdcp::net
