// Source and target over a real connection, both played by our own code.
#include <gtest/gtest.h>

#include <thread>

#include "net/tcp.h"
#include "tests/net/copy_harness.h"
#include "tests/net/tcp_pair.h"

namespace rdcp::net {
namespace {

constexpr StreamShape kShape{.target_slots = 3, .slot_bytes = std::size_t{256} << 10};

std::string backend_name(const testing::TestParamInfo<io::RingChoice>& backend) {
  return backend.param == io::RingChoice::io_uring ? "IoUring" : "ThreadPool";
}

class TcpStreamTest : public testing::TestWithParam<io::RingChoice> {
 protected:
  void SetUp() override {
    ring_ = test_ring(GetParam());
    if (!ring_) GTEST_SKIP() << "no such ring on this machine";
    source_stream_ = make_tcp_source(*ring_, std::move(pair_.source), kShape);
    target_stream_ = make_tcp_target(*ring_, std::move(pair_.target), kShape, arena_);
    source_.emplace(SourceSide{*source_stream_, {}});
    target_.emplace(TargetSide{*target_stream_, arena_});
  }
  void start(std::vector<std::size_t> lengths) {
    source_->lengths = std::move(lengths);
    target_stream_->start();
    source_stream_->start();
    target_->start(4);
    source_->start(4);
  }
  bool finished() const { return source_->finished() && target_->finished(); }
  bool finish() {
    return run_until(*ring_, [this] { return finished(); });
  }
  void expect_whole(std::size_t chunks) {
    ASSERT_TRUE(finish());
    EXPECT_FALSE(source_->error) << source_->error->message();
    EXPECT_FALSE(target_->error) << target_->error->message();
    EXPECT_FALSE(source_stream_->why_shut() || target_stream_->why_shut());
    EXPECT_EQ(target_->wrong, 0u);
    EXPECT_EQ(target_->received.size(), chunks);
    EXPECT_EQ(target_->ends_seen, 4u);
    EXPECT_EQ(source_->answers, std::vector(chunks, target_->answer));
  }

  TcpPair pair_;
  io::Arena arena_ = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
  std::unique_ptr<io::Ring> ring_;
  std::unique_ptr<Stream> source_stream_;
  std::unique_ptr<Stream> target_stream_;
  std::optional<SourceSide> source_;
  std::optional<TargetSide> target_;
};

INSTANTIATE_TEST_SUITE_P(Backend, TcpStreamTest,
                         testing::Values(io::RingChoice::io_uring, io::RingChoice::thread_pool),
                         backend_name);

TEST_P(TcpStreamTest, ChunksOfEverySizeArriveWhole) {
  const std::vector<std::size_t> lengths = {
      1, 2, 95, 96, 97, 4095, 4096, 4097, 100'000, kShape.slot_bytes - 1, 1, kShape.slot_bytes};
  start(lengths);
  expect_whole(lengths.size());
}

TEST_P(TcpStreamTest, ManyChunksArriveWhole) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 200; ++i) lengths.push_back(1 + i * 7919 % kShape.slot_bytes);
  start(lengths);
  expect_whole(lengths.size());
  EXPECT_EQ(source_stream_->counters().payload_bytes, target_stream_->counters().payload_bytes);
  EXPECT_EQ(target_stream_->counters().frames, lengths.size());
}

TEST_P(TcpStreamTest, AnswersReachTheSource) {
  target_->answer = AckStatus::bad_digest;
  start({1, 2, 3, 4, 5, 6, 7});
  expect_whole(7);
}

TEST_P(TcpStreamTest, AStreamThatCarriesNothingEnds) {
  start({});
  expect_whole(0);
}

TEST_P(TcpStreamTest, SaysWhoTalksToWhom) {
  const std::string text = source_stream_->description();
  EXPECT_EQ(text, target_stream_->description());
  EXPECT_EQ(text.find("tcp 127.0.0.1:"), 0u) << text;
  EXPECT_NE(text.find(" -> 127.0.0.1:"), std::string::npos) << text;
}

// A target that gives nothing back holds the source up by credits, not by a full socket: every chunk that it
// has slots for gets there.
TEST_P(TcpStreamTest, ASlowTargetBlocksTheSourceByCreditsOnly) {
  target_->releases = false;
  start(std::vector<std::size_t>(10, kShape.slot_bytes));
  ASSERT_TRUE(run_until(*ring_, [this] { return target_->received.size() == kShape.target_slots; }));
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

TEST_P(TcpStreamTest, AnEndBeforeTheLastAnswersIsInOrder) {
  target_->releases = false;
  source_->ends = false;
  start({1, 2, 3});
  ASSERT_TRUE(run_until(*ring_, [this] { return target_->received.size() == 3; }));
  std::optional<io::Result<void>> ended;
  io::Task end = [](Stream& stream, std::optional<io::Result<void>>& result) -> io::Task {
    result.emplace(co_await stream.send(Frame{}, {}));
  }(*source_stream_, ended);
  end.start();
  ASSERT_TRUE(run_until(*ring_, [this] { return target_->ends_seen == 4; }));
  ASSERT_TRUE(ended && *ended);
  EXPECT_FALSE(source_stream_->idle());
  EXPECT_FALSE(target_stream_->idle());
  for (std::uint32_t slot = 0; slot < 3; ++slot) target_stream_->release(slot, AckStatus::done);
  expect_whole(3);
}

TEST_P(TcpStreamTest, ATargetThatGoesAfterTheEndIsNoErrorAtTheSource) {
  start({1000, 2000});
  ASSERT_TRUE(run_until(*ring_, [this] { return target_->finished(); }));
  target_stream_.reset();
  ASSERT_TRUE(run_until(*ring_, [this] { return source_->finished(); }));
  EXPECT_FALSE(source_stream_->why_shut());
  EXPECT_FALSE(source_->error);
}

TEST_P(TcpStreamTest, ASourceThatGoesAfterTheEndIsNoErrorAtTheTarget) {
  start({1000, 2000});
  ASSERT_TRUE(run_until(*ring_, [this] { return source_->finished(); }));
  source_stream_.reset();
  ASSERT_TRUE(run_until(*ring_, [this] { return target_->finished(); }));
  EXPECT_FALSE(target_stream_->why_shut());
  EXPECT_FALSE(target_->error);
}

TEST_P(TcpStreamTest, ShutAtTheSourceEndsBothSides) {
  target_->releases = false;
  start(std::vector<std::size_t>(10, kShape.slot_bytes));
  ASSERT_TRUE(run_until(*ring_, [this] { return !target_->received.empty(); }));
  source_stream_->shut(io::plain_error(io::ErrorKind::interrupted, "copy", "", "stopped"));
  ASSERT_TRUE(finish());
  EXPECT_EQ(source_->error->detail, "stopped");
  ASSERT_TRUE(target_->error);
  EXPECT_EQ(target_->error->kind, io::ErrorKind::connection);
  EXPECT_EQ(target_->error->message().find("peer 127.0.0.1:"), 0u) << target_->error->message();
}

TEST_P(TcpStreamTest, ShutAtTheTargetEndsBothSides) {
  target_->releases = false;
  start(std::vector<std::size_t>(10, kShape.slot_bytes));
  ASSERT_TRUE(run_until(*ring_, [this] { return !target_->received.empty(); }));
  target_stream_->shut(io::plain_error(io::ErrorKind::interrupted, "copy", "", "stopped"));
  ASSERT_TRUE(finish());
  EXPECT_EQ(target_->error->detail, "stopped");
  ASSERT_TRUE(source_->error);
  EXPECT_EQ(source_->error->kind, io::ErrorKind::connection);
}

// One worker thread a side, as in a copy.
TEST_P(TcpStreamTest, TwoThreadsCopyManyChunks) {
  TcpPair pair;
  const auto source_stream = make_tcp_source(*ring_, std::move(pair.source), kShape);
  SourceSide source{*source_stream, std::vector<std::size_t>(500, 50'000)};
  std::thread other([this, &pair] {
    const auto ring = test_ring(GetParam());
    const auto stream = make_tcp_target(*ring, std::move(pair.target), kShape, arena_);
    TargetSide target{*stream, arena_};
    stream->start();
    target.start(3);
    EXPECT_TRUE(run_until(*ring, [&target] { return target.finished(); }));
    EXPECT_EQ(target.received.size(), 500u);
    EXPECT_EQ(target.wrong, 0u);
  });
  source_stream->start();
  source.start(4);
  EXPECT_TRUE(run_until(*ring_, [&source] { return source.finished(); }));
  other.join();
  EXPECT_FALSE(source.error);
  EXPECT_EQ(source.answers.size(), 500u);
}

}  // namespace
}  // namespace rdcp::net
