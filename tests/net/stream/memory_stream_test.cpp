#include "net/stream/memory_stream.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/net/stream/copy_harness.h"

namespace rdcp::net {
namespace {

constexpr StreamShape kShape{.target_slots = 3, .slot_bytes = 8192};
const std::vector<std::size_t> kLengths = {1, 4095, 4096, 4097, 8191, 8192, 17, 8192, 3, 5000};

constexpr std::size_t kManyChunks = 2000;

// One side each on a thread of its own; what came of it.
struct TwoThreads {
  explicit TwoThreads(const MemoryTap& tap) {
    set_tap(*channel, tap);
    std::thread other([this] { run_target(); });
    run_source();
    other.join();
  }
  void run_source() {
    const auto ring = test_ring();
    const auto stream = make_memory_source(*ring, channel, kShape);
    SourceSide source{*stream, std::vector<std::size_t>(kManyChunks, 777)};
    stream->start();
    source.start(4);
    EXPECT_TRUE(run_until(*ring, [&source] { return source.finished(); }));
    answers = source.answers.size();
    source_error = source.error;
  }
  void run_target() {
    const auto ring = test_ring();
    io::Arena arena = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
    const auto stream = make_memory_target(*ring, channel, kShape, arena);
    TargetSide target{*stream, arena};
    stream->start();
    target.start(3);
    EXPECT_TRUE(run_until(*ring, [&target] { return target.finished(); }));
    EXPECT_EQ(target.wrong, 0u);
    received = target.received.size();
    target_error = target.error;
  }

  std::shared_ptr<MemoryChannel> channel = make_memory_channel();
  std::size_t answers = 0;
  std::size_t received = 0;
  std::optional<io::Error> source_error;
  std::optional<io::Error> target_error;
};

// As when its worker's ring has broken: what its chunks lie in goes next.
TEST(MemoryStream, ASourceThatGoesWaitsForTheCopyUnderWay) {
  const std::shared_ptr<MemoryChannel> channel = make_memory_channel();
  std::promise<void> copying;
  std::promise<void> go_on;
  set_tap(*channel, [&](Frame&, std::span<std::byte>) {
    copying.set_value();
    go_on.get_future().wait();
    return true;
  });
  std::thread receiving([&] {
    const auto ring = test_ring();
    io::Arena arena = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
    const auto stream = make_memory_target(*ring, channel, kShape, arena);
    stream->start();
    EXPECT_TRUE(run_until(*ring, [&stream] { return stream->idle(); }));
    EXPECT_TRUE(stream->why_shut());
  });
  const auto ring = test_ring();
  auto stream = make_memory_source(*ring, channel, kShape);
  SourceSide source{*stream, {777}};
  stream->start();
  source.start(1);
  auto copy_begins = copying.get_future();
  EXPECT_TRUE(run_until(
      *ring, [&] { return copy_begins.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  auto gone = std::async(std::launch::async, [&stream] { stream.reset(); });
  // Longer than a source takes that does not wait.
  EXPECT_EQ(gone.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  go_on.set_value();
  gone.wait();
  receiving.join();
}

TEST(MemoryStream, TwoThreadsCopyManyChunks) {
  const TwoThreads copy(nullptr);
  EXPECT_EQ(copy.received, kManyChunks);
  EXPECT_EQ(copy.answers, kManyChunks);
  EXPECT_FALSE(copy.source_error || copy.target_error);
}

TEST(MemoryStream, ACutBetweenTwoThreadsLeavesNobodyWaiting) {
  int frames = 0;
  const TwoThreads copy([&frames](Frame&, std::span<std::byte>) { return ++frames < 100; });
  EXPECT_EQ(copy.received, 99u);
  EXPECT_TRUE(copy.source_error && copy.target_error);
}

// Both sides on one thread and one ring.
class MemoryStreamTest : public testing::Test {
 protected:
  void start(std::vector<std::size_t> lengths) {
    source_.lengths = std::move(lengths);
    target_stream_->start();
    source_stream_->start();
    target_.start(4);
    source_.start(4);
  }
  bool finish() {
    return run_until(*ring_, [this] { return source_.finished() && target_.finished(); });
  }
  void expect_both_failed(io::ErrorKind at_target) {
    ASSERT_TRUE(finish());
    ASSERT_TRUE(source_.error && target_.error);
    EXPECT_EQ(target_.error->kind, at_target);
    EXPECT_EQ(source_.error->kind, io::ErrorKind::connection);
  }
  void expect_hostile_frame_is_refused(const std::function<void(Frame&)>& change) {
    int frames = 0;
    set_tap(*channel_, [&](Frame& frame, std::span<std::byte>) {
      if (++frames == 2) change(frame);
      return true;
    });
    source_.ends = false;
    target_.releases = false;
    start({100, 100, 100});
    expect_both_failed(io::ErrorKind::protocol);
    EXPECT_EQ(target_.received.size(), 1u);
  }

  std::unique_ptr<io::Ring> ring_ = test_ring();
  io::Arena arena_ = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
  std::shared_ptr<MemoryChannel> channel_ = make_memory_channel();
  std::unique_ptr<Stream> source_stream_ = make_memory_source(*ring_, channel_, kShape);
  std::unique_ptr<Stream> target_stream_ = make_memory_target(*ring_, channel_, kShape, arena_);
  SourceSide source_{*source_stream_, {}};
  TargetSide target_{*target_stream_, arena_};
};

TEST_F(MemoryStreamTest, ChunksArriveWholeAndTheStreamEnds) {
  start(kLengths);
  ASSERT_TRUE(finish());
  EXPECT_FALSE(source_.error) << source_.error->message();
  EXPECT_FALSE(target_.error) << target_.error->message();
  EXPECT_EQ(target_.wrong, 0u);
  EXPECT_EQ(target_.received.size(), kLengths.size());
  EXPECT_EQ(target_.ends_seen, 4u);
  EXPECT_EQ(source_.answers, std::vector(kLengths.size(), AckStatus::done));
  EXPECT_FALSE(source_stream_->why_shut() || target_stream_->why_shut());
  EXPECT_EQ(source_stream_->counters().payload_bytes, target_stream_->counters().payload_bytes);
}

TEST_F(MemoryStreamTest, AStreamThatCarriesNothingEnds) {
  start({});
  ASSERT_TRUE(finish());
  EXPECT_FALSE(source_.error || target_.error);
}

TEST_F(MemoryStreamTest, NoMoreChunksAreUnderWayThanTheTargetHasSlots) {
  target_.releases = false;
  start(kLengths);
  ASSERT_TRUE(run_until(*ring_, [this] { return target_.received.size() == kShape.target_slots; }));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(ring_->run_once(std::chrono::seconds(0)));
  EXPECT_EQ(target_.received.size(), kShape.target_slots);
  EXPECT_EQ(source_.answers.size(), 0u);
  target_stream_->shut(io::plain_error(io::ErrorKind::interrupted, "test", "", "over"));
  ASSERT_TRUE(finish());
}

TEST_F(MemoryStreamTest, TheTapMayDamageAPayloadWithoutTouchingTheSource) {
  set_tap(*channel_, [](Frame& frame, std::span<std::byte> payload) {
    if (frame.file_id == 1) payload[0] ^= std::byte{1};
    return true;
  });
  start(kLengths);
  ASSERT_TRUE(finish());
  EXPECT_EQ(target_.wrong, 1u);
  EXPECT_FALSE(source_.error || target_.error);
}

TEST_F(MemoryStreamTest, ACutReachesBothSides) {
  set_tap(*channel_, [](Frame& frame, std::span<std::byte>) { return frame.file_id != 5; });
  start(kLengths);
  expect_both_failed(io::ErrorKind::connection);
}

TEST_F(MemoryStreamTest, ASourceThatIsShutCutsTheTarget) {
  target_.releases = false;
  start(kLengths);
  ASSERT_TRUE(run_until(*ring_, [this] { return !target_.received.empty(); }));
  source_stream_->shut(io::plain_error(io::ErrorKind::connection, "test", "", "cut"));
  expect_both_failed(io::ErrorKind::connection);
  EXPECT_EQ(source_.error->detail, "cut");
}

TEST_F(MemoryStreamTest, RefusesASlotThatIsBusy) {
  expect_hostile_frame_is_refused([this](Frame& frame) { frame.slot = target_.received.at(0).slot; });
}

TEST_F(MemoryStreamTest, RefusesASlotThatDoesNotExist) {
  expect_hostile_frame_is_refused([](Frame& frame) { frame.slot = kShape.target_slots; });
}

TEST_F(MemoryStreamTest, RefusesAChunkLongerThanASlot) {
  expect_hostile_frame_is_refused([](Frame& frame) { frame.length = kShape.slot_bytes + 1; });
}

TEST_F(MemoryStreamTest, RefusesACreditOnItsWayToTheTarget) {
  expect_hostile_frame_is_refused([](Frame& frame) { frame.kind = FrameKind::credit; });
}

TEST_F(MemoryStreamTest, AnEndAheadOfItsChunksIsAnErrorAtTheSource) {
  bool ended = false;
  set_tap(*channel_, [&ended](Frame& frame, std::span<std::byte>) {
    if (!ended) frame = Frame{};
    ended = true;
    return true;
  });
  target_.releases = false;
  source_.ends = false;
  start({100, 100, 100});
  // The target ended well by its own account and went; the source learns that its chunks are lost.
  ASSERT_TRUE(finish());
  EXPECT_EQ(target_.received.size(), 0u);
  EXPECT_TRUE(source_.error);
}

}  // namespace
}  // namespace rdcp::net
