#include "net/stream/compression_controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace rdcp::net {
namespace {

using namespace std::chrono_literals;

constexpr double kSecondsEach = 0.005;

// What a stream meets, in bytes a second.
struct Conditions {
  double link = 1e9;       // what the network carries
  double source = 20e9;    // what there is to send
  double receiver = 20e9;  // what the target takes
  double compressor = 400e6;
  double estimate = 400e6;  // of that, before anything was packed
  double packed = 20e9;  // what the hosts get through while they pack, if it is less than the compressor says
  double ratio = 3;      // packed, a payload is so many times as short
  bool looks_busy = false;  // the kernel takes hosts without a processor for a network
};

// A stream in simulated time: the source hands over what the queue has room for, the link takes it from
// there.
class Simulation {
 public:
  explicit Simulation(const Conditions& with) : with_(with) {}

  Conditions& conditions() { return with_; }
  const CompressionController& watch() const { return watch_; }
  double packed_share() const { return steps_ == 0 ? 0 : static_cast<double>(packed_steps_) / steps_; }
  // Unpacked bytes a second, since the last call.
  double rate() { return std::exchange(bytes_, 0) / (kSecondsEach * std::exchange(counted_, 0)); }

  Simulation& run(std::chrono::milliseconds time) {
    steps_ = packed_steps_ = 0;
    for (auto left = time; left > 0ms; left -= 5ms) step();
    return *this;
  }

 private:
  void step() {
    now_ += 5ms;
    if (watch_.due(now_)) {
      watch_.take({now_, static_cast<std::uint64_t>(acked_), static_cast<std::uint64_t>(queued_),
                   static_cast<std::uint64_t>(busy_ * 1e6), static_cast<std::uint64_t>(receiver_ * 1e6)},
                  has_packed_ ? with_.compressor : with_.estimate);
    }
    has_packed_ = has_packed_ || watch_.packs();
    const double ratio = watch_.packs() ? with_.ratio : 1;
    double bytes = std::min(with_.source, with_.receiver) * kSecondsEach;
    if (watch_.packs())
      bytes = std::min({bytes, with_.compressor * kSecondsEach, with_.packed * kSecondsEach});
    bytes = std::min(bytes, (kQueue - queued_) * ratio);
    watch_.handed_over(static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(bytes / ratio));
    queued_ += bytes / ratio;
    const double gone = std::min(queued_, with_.link * kSecondsEach);
    queued_ -= gone;
    acked_ += gone;
    const bool waits = with_.receiver < with_.link;
    busy_ += with_.looks_busy || waits ? kSecondsEach : gone / with_.link;
    if (waits) receiver_ += kSecondsEach * (1 - with_.receiver / with_.link);
    bytes_ += bytes;
    ++counted_;
    ++steps_;
    if (watch_.packs()) ++packed_steps_;
  }

  static constexpr double kQueue = 4e6;  // more than any link here carries in a step
  Conditions with_;
  CompressionController watch_;
  CompressionController::Clock::time_point now_{};
  double acked_ = 0, queued_ = 0, busy_ = 0, receiver_ = 0, bytes_ = 0;
  int counted_ = 0, steps_ = 0, packed_steps_ = 0;
  bool has_packed_ = false;
};

TEST(CompressionController, PacksSoonOnALinkThatIsSlowerThanTheCompressor) {
  Simulation slow({.link = 118e6});
  slow.run(200ms);
  EXPECT_TRUE(slow.watch().packs());
  slow.run(60s);
  EXPECT_GT(slow.packed_share(), 0.95);
  EXPECT_GT(slow.rate(), 2.8 * 118e6);
}

TEST(CompressionController, NeverPacksOnALinkThatIsNotClearlySlower) {
  EXPECT_EQ(Simulation({.link = 700e6}).run(60s).packed_share(), 0);
  EXPECT_EQ(Simulation({.link = 300e6}).run(60s).packed_share(), 0);
}

TEST(CompressionController, NeverPacksForASlowSourceOrTarget) {
  EXPECT_EQ(Simulation({.link = 500e6, .source = 100e6}).run(60s).packed_share(), 0);
  EXPECT_EQ(Simulation({.link = 500e6, .receiver = 100e6}).run(60s).packed_share(), 0);
}

// Both ends want the processor that packs: what the kernel says of the link is no more than a reason to try.
TEST(CompressionController, GivesUpWhatMakesTheStreamSlower) {
  Simulation hosts({.link = 250e6, .compressor = 800e6, .packed = 200e6, .looks_busy = true});
  hosts.run(2s);
  EXPECT_GT(hosts.packed_share(), 0);  // it was tried
  EXPECT_GT(hosts.rate(), 0.97 * 250e6);
  hosts.run(60s);
  EXPECT_GT(hosts.packed_share(), 0);
  EXPECT_LT(hosts.packed_share(), 0.02);
  EXPECT_GT(hosts.rate(), 0.99 * 250e6);
}

TEST(CompressionController, GivesUpAtOnceWhenTheCompressorTurnsOutToBeTooSlow) {
  Simulation stream({.link = 250e6, .compressor = 250e6});
  stream.run(1s);
  EXPECT_GT(stream.packed_share(), 0);
  EXPECT_LE(stream.packed_share(), 0.015);  // until the next sample
  EXPECT_EQ(stream.run(60s).packed_share(), 0);
}

TEST(CompressionController, GivesUpWhatBringsLittle) {
  EXPECT_LT(Simulation({.link = 250e6, .compressor = 800e6, .packed = 280e6}).run(60s).packed_share(), 0.02);
}

// A target may be slow in a way that looks like the network: its processor is busy.
TEST(CompressionController, GivesUpWhereTheTargetIsWhatIsSlowAfterAll) {
  EXPECT_LT(Simulation({.link = 250e6, .source = 250e6, .compressor = 800e6, .looks_busy = true})
                .run(60s)
                .packed_share(),
            0.02);
}

TEST(CompressionController, TriesAgainAndFollowsTheLink) {
  Simulation stream({.link = 250e6, .compressor = 800e6, .packed = 200e6});
  stream.run(60s);
  stream.conditions().packed = 20e9;
  stream.run(17s);
  EXPECT_TRUE(stream.watch().packs());
  stream.conditions().link = 700e6;
  stream.run(6s);
  EXPECT_FALSE(stream.watch().packs());
  EXPECT_EQ(stream.run(30s).packed_share(), 0);
  stream.conditions().link = 50e6;
  EXPECT_TRUE(stream.run(3s).watch().packs());
}

TEST(CompressionController, ALinkThatBecomesSlowerIsPackedForSoonAgain) {
  Simulation stream({.link = 118e6, .ratio = 1.5});
  stream.run(4s);
  stream.conditions().link = 30e6;
  EXPECT_GT(stream.run(60s).packed_share(), 0.9);
}

// Streams that share a link do not get the same at any moment.
TEST(CompressionController, AMomentIsNoReasonToGiveUpOnALinkThatIsFarSlower) {
  Simulation stream({.link = 60e6});
  while (!stream.watch().packs()) stream.run(5ms);
  stream.run(100ms).conditions().link = 10e6;
  stream.run(100ms).conditions().link = 60e6;
  EXPECT_GT(stream.run(10s).packed_share(), 0.95);
}

// A link that lets a burst through before it holds to its rate, as token buckets do, looks faster at first
// than it is.
TEST(CompressionController, ARateThatABurstMadeTooHighIsCorrectedSoon) {
  Simulation stream({.link = 16e6, .ratio = 1.8});
  while (!stream.watch().packs()) stream.run(5ms);
  stream.conditions().link = 10e6;
  EXPECT_GT(stream.run(10s).packed_share(), 0.9);
}

// Another program takes the processors of both hosts, now and then: the network seems slow for a moment.
TEST(CompressionController, AMomentIsNoReasonToPackAgain) {
  Simulation hosts({.link = 250e6, .compressor = 800e6, .packed = 200e6, .looks_busy = true});
  hosts.run(300ms);
  EXPECT_FALSE(hosts.watch().packs());  // it was tried
  for (int moment = 0; moment < 3; ++moment) {
    hosts.conditions().link = 50e6;
    EXPECT_EQ(hosts.run(150ms).packed_share(), 0);
    hosts.conditions().link = 250e6;
    EXPECT_EQ(hosts.run(350ms).packed_share(), 0);
  }
}

// The first measure without packing falls into such a moment: packing looks like a gain until the next.
TEST(CompressionController, AFirstMomentMisleadsNotForLong) {
  Simulation hosts({.link = 50e6, .compressor = 800e6, .packed = 200e6, .looks_busy = true});
  while (!hosts.watch().packs()) hosts.run(5ms);
  hosts.conditions().link = 250e6;
  EXPECT_LT(hosts.run(10s).packed_share(), 0.15);
}

// What was handed over before a change still goes over the link after it, and says nothing of it.
TEST(CompressionController, LooksCostLittleWhereAQueueIsLong) {
  Simulation slow({.link = 1e6});
  slow.run(10s);
  EXPECT_TRUE(slow.watch().packs());
  EXPECT_GT(slow.run(300s).packed_share(), 0.93);
}

// Nothing shrinks, so nothing is learnt of packing; the compressor sees to it that trying costs little.
TEST(CompressionController, NoiseIsNoReasonToGiveUp) {
  Simulation stream({.link = 118e6, .ratio = 1});
  stream.run(2s);
  EXPECT_TRUE(stream.watch().packs());
  stream.conditions().ratio = 3;
  EXPECT_GT(stream.run(30s).packed_share(), 0.9);
}

}  // namespace
}  // namespace rdcp::net
