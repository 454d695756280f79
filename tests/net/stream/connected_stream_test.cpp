// Every stream must do this, whatever it goes over; our own code plays both ends.
#include "tests/net/stream/connected_stream.h"

#include <thread>

namespace rdcp::net {
namespace {

TEST_P(ConnectedStreamTest, ChunksOfEverySizeArriveWhole) {
  const std::vector<std::size_t> lengths = {
      1, 2, 95, 96, 97, 4095, 4096, 4097, 100'000, kShape.slot_bytes - 1, 1, kShape.slot_bytes};
  start(lengths);
  expect_whole(lengths.size());
}

TEST_P(ConnectedStreamTest, ManyChunksArriveWhole) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 200; ++i) lengths.push_back(1 + i * 7919 % 32768);
  start(lengths);
  expect_whole(lengths.size());
  EXPECT_EQ(source_stream_->counters().payload_bytes, target_stream_->counters().payload_bytes);
  EXPECT_EQ(target_stream_->counters().frames, lengths.size());
}

TEST_P(ConnectedStreamTest, AnswersReachTheSource) {
  target_->answer = AckStatus::bad_digest;
  start({1, 2, 3, 4, 5, 6, 7});
  expect_whole(7);
}

TEST_P(ConnectedStreamTest, AStreamThatCarriesNothingEnds) {
  start({});
  expect_whole(0);
}

// A target that gives nothing back holds the source up by credits, not by a full socket or device: every
// chunk that it has slots for gets there, and no more.
TEST_P(ConnectedStreamTest, ASlowTargetBlocksTheSourceByCreditsOnly) {
  target_->releases = false;
  start(std::vector<std::size_t>(10, kShape.slot_bytes));
  ASSERT_TRUE(until([this] { return target_->received.size() == kShape.target_slots; }));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(ring_->run_once(std::chrono::milliseconds(1)));
  EXPECT_EQ(target_->received.size(), kShape.target_slots);
  EXPECT_EQ(source_stream_->counters().frames, kShape.target_slots);
  EXPECT_TRUE(source_->answers.empty());
  target_->releases = true;
  for (std::uint32_t slot = 0; slot < kShape.target_slots; ++slot) {
    target_stream_->release(slot, AckStatus::done);
  }
  expect_whole(10);
}

TEST_P(ConnectedStreamTest, AnEndBeforeTheLastAnswersIsInOrder) {
  target_->releases = false;
  source_->ends = false;
  start({1, 2, 3});
  ASSERT_TRUE(until([this] { return target_->received.size() == 3; }));
  std::optional<io::Result<void>> ended;
  io::Task end = [](Stream& stream, std::optional<io::Result<void>>& result) -> io::Task {
    result.emplace(co_await stream.send(Frame{}, {}));
  }(*source_stream_, ended);
  end.start();
  ASSERT_TRUE(until([&] { return target_->ends_seen == 4 && ended; }));
  ASSERT_TRUE(*ended);
  EXPECT_FALSE(source_stream_->idle());
  EXPECT_FALSE(target_stream_->idle());
  for (std::uint32_t slot = 0; slot < 3; ++slot) target_stream_->release(slot, AckStatus::done);
  expect_whole(3);
}

TEST_P(ConnectedStreamTest, ATargetThatGoesAfterTheEndIsNoErrorAtTheSource) {
  start({1000, 2000});
  ASSERT_TRUE(until([this] { return target_->finished(); }));
  target_stream_.reset();
  ASSERT_TRUE(until([this] { return source_->finished(); }));
  EXPECT_FALSE(source_stream_->why_shut());
  EXPECT_FALSE(source_->error);
}

TEST_P(ConnectedStreamTest, ASourceThatGoesAfterTheEndIsNoErrorAtTheTarget) {
  start({1000, 2000});
  ASSERT_TRUE(until([this] { return source_->finished(); }));
  source_stream_.reset();
  ASSERT_TRUE(until([this] { return target_->finished(); }));
  EXPECT_FALSE(target_stream_->why_shut());
  EXPECT_FALSE(target_->error);
}

TEST_P(ConnectedStreamTest, ShutAtTheSourceEndsBothSides) {
  stop_in_the_middle();
  source_stream_->shut(stopped());
  ASSERT_TRUE(finish());
  EXPECT_EQ(source_->error->detail, "stopped");
  ASSERT_TRUE(target_->error);
  EXPECT_EQ(target_->error->kind, io::ErrorKind::connection);
  EXPECT_EQ(target_->error->message().find("peer "), 0u) << target_->error->message();
}

TEST_P(ConnectedStreamTest, ShutAtTheTargetEndsBothSides) {
  stop_in_the_middle();
  target_stream_->shut(stopped());
  ASSERT_TRUE(finish());
  EXPECT_EQ(target_->error->detail, "stopped");
  ASSERT_TRUE(source_->error);
  EXPECT_EQ(source_->error->kind, io::ErrorKind::connection);
  EXPECT_EQ(source_->error->message().find("peer "), 0u) << source_->error->message();
}

// Over RDMA a target that dies leaves the source's device with writes that nobody acknowledges; their memory
// comes back all the same, when the device is done with it.
TEST_P(ConnectedStreamTest, ATargetThatGoesInTheMiddleEndsTheSource) {
  start(std::vector<std::size_t>(1000, kShape.slot_bytes));
  ASSERT_TRUE(until([this] { return target_->received.size() > 5; }));
  target_stream_->shut(stopped());
  ASSERT_TRUE(until([this] { return target_->finished(); }));
  target_stream_.reset();
  ASSERT_TRUE(until([this] { return source_->finished(); }));
  ASSERT_TRUE(source_->error);
  EXPECT_EQ(source_->error->kind, io::ErrorKind::connection);
}

TEST_P(ConnectedStreamTest, NothingArrivesOnceAllHasComeOrTheStreamIsGone) {
  io::Occupancy arriving;
  const auto is_over = [&] {
    const std::uint64_t before = arriving.times().any_us;
    const auto later = io::Clock::now() + std::chrono::microseconds(300);
    while (io::Clock::now() < later) std::this_thread::yield();
    return arriving.times().any_us == before;
  };
  EXPECT_TRUE(is_over());
  target_stream_->measure_arrivals(arriving);
  start(std::vector<std::size_t>(1000, kShape.slot_bytes));
  ASSERT_TRUE(until([this] { return target_->received.size() > 5; }));
  target_stream_->shut(stopped());
  ASSERT_TRUE(finish());
  target_stream_.reset();
  EXPECT_TRUE(is_over());
}

TEST_P(ConnectedStreamTest, AStreamThatNeverStartedCanBeDestroyed) {
  source_stream_.reset();
  target_stream_->start();
  target_->start(1);
  ASSERT_TRUE(until([this] { return target_->finished(); }));
  ASSERT_TRUE(target_->error);
  EXPECT_EQ(target_->error->kind, io::ErrorKind::connection);
}

// One worker thread a side, as in a copy.
TEST_P(ConnectedStreamTest, TwoThreadsCopyManyChunks) {
  auto ends = GetParam().connect(kShape);
  ASSERT_TRUE(ends);
  io::Arena arena = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
  const auto source_stream = ends->source(*ring_, source_arena_);
  SourceSide source{*source_stream, std::vector<std::size_t>(500, 5'000)};
  source.arena = &source_arena_;
  std::thread other([&] {
    const auto ring = test_ring(GetParam().ring);
    const auto stream = ends->target(*ring, arena);
    TargetSide target{*stream, arena};
    stream->start();
    target.start(3);
    EXPECT_TRUE(run_until(*ring, [&target] { return target.finished(); }));
    EXPECT_EQ(target.received.size(), 500u);
    EXPECT_EQ(target.wrong, 0u);
  });
  source_stream->start();
  source.start(kSourceLoops);
  EXPECT_TRUE(run_until(*ring_, [&source] { return source.finished(); }));
  other.join();
  EXPECT_FALSE(source.error);
  EXPECT_EQ(source.answers.size(), 500u);
}

}  // namespace
}  // namespace rdcp::net
