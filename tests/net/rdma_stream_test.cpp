// Source and target over a real queue pair, both played by our own code.
#include <gtest/gtest.h>

#include <thread>

#include "net/rdma.h"
#include "tests/net/copy_harness.h"
#include "tests/net/rdma_pair.h"

namespace rdcp::net {
namespace {

constexpr StreamShape kShape{.target_slots = 3, .slot_bytes = std::size_t{256} << 10};
constexpr std::size_t kSourceLoops = 4;

struct Variant {
  WhichPort port;
  io::RingChoice ring;
  bool seals = false;
  Compression compression = kCompressOff;
};

std::string variant_name(const testing::TestParamInfo<Variant>& variant) {
  return name_of(variant.param.port) +
         (variant.param.ring == io::RingChoice::io_uring ? "IoUring" : "ThreadPool") +
         (variant.param.seals ? "Sealed" : "") + (variant.param.compression != kCompressOff ? "Packed" : "");
}

class RdmaStreamTest : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    port_ = find_port(GetParam().port);
    if (!port_) GTEST_SKIP() << "no RDMA device";
    ring_ = test_ring(GetParam().ring);
    if (!ring_) GTEST_SKIP() << "no such ring on this machine";
    job_.slots = kShape.target_slots;
    job_.seals = GetParam().seals;
    RdmaPair pair = make_rdma_pair(*port_, job_);
    ASSERT_EQ(pair.source.size(), 1u);
    Envelope source_envelope = envelope_of(*pair.source[0], true);
    Envelope target_envelope = envelope_of(*pair.target[0], false);
    source_stream_ = make_rdma_source(*ring_, std::move(pair.source[0]), kShape, source_arena_,
                                      std::move(source_envelope));
    target_stream_ =
        make_rdma_target(*ring_, std::move(pair.target[0]), kShape, arena_, std::move(target_envelope));
    source_.emplace(SourceSide{*source_stream_, {}});
    source_->arena = &source_arena_;
    target_.emplace(TargetSide{*target_stream_, arena_});
  }
  static Envelope envelope_of(const RdmaConnection& connection, bool source) {
    EXPECT_EQ(seal_of(connection).has_value(), GetParam().seals);
    return Envelope::create(seal_of(connection), GetParam().compression, source).value();
  }
  void start(std::vector<std::size_t> lengths) {
    source_->lengths = std::move(lengths);
    target_stream_->start();
    source_stream_->start();
    target_->start(4);
    source_->start(kSourceLoops);
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

  std::optional<RdmaPort> port_;
  RdmaJob job_;
  io::Arena source_arena_ = io::Arena::create(kSourceLoops, kShape.slot_bytes).value();
  io::Arena arena_ = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
  std::unique_ptr<io::Ring> ring_;
  std::unique_ptr<Stream> source_stream_;
  std::unique_ptr<Stream> target_stream_;
  std::optional<SourceSide> source_;
  std::optional<TargetSide> target_;
};

INSTANTIATE_TEST_SUITE_P(Port, RdmaStreamTest,
                         testing::Values(Variant{WhichPort::ipv4, io::RingChoice::io_uring},
                                         Variant{WhichPort::ipv4, io::RingChoice::thread_pool},
                                         Variant{WhichPort::ipv6, io::RingChoice::io_uring},
                                         Variant{WhichPort::second_device, io::RingChoice::io_uring},
                                         Variant{WhichPort::ipv4, io::RingChoice::io_uring, true},
                                         Variant{WhichPort::ipv4, io::RingChoice::io_uring, true, 1},
                                         Variant{WhichPort::ipv6, io::RingChoice::io_uring, false, 1}),
                         variant_name);

TEST_P(RdmaStreamTest, ChunksOfEverySizeArriveWhole) {
  const std::vector<std::size_t> lengths = {
      1, 2, 95, 96, 97, 4095, 4096, 4097, 100'000, kShape.slot_bytes - 1, 1, kShape.slot_bytes};
  start(lengths);
  expect_whole(lengths.size());
}

TEST_P(RdmaStreamTest, ManyChunksArriveWhole) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 200; ++i) lengths.push_back(1 + i * 7919 % 32768);
  start(lengths);
  expect_whole(lengths.size());
  EXPECT_EQ(source_stream_->counters().payload_bytes, target_stream_->counters().payload_bytes);
  EXPECT_EQ(target_stream_->counters().frames, lengths.size());
}

TEST_P(RdmaStreamTest, AnswersReachTheSource) {
  target_->answer = AckStatus::bad_digest;
  start({1, 2, 3, 4, 5, 6, 7});
  expect_whole(7);
}

TEST_P(RdmaStreamTest, AStreamThatCarriesNothingEnds) {
  start({});
  expect_whole(0);
}

TEST_P(RdmaStreamTest, SaysWhoTalksToWhomOverWhichDevice) {
  const std::string text = source_stream_->description();
  EXPECT_EQ(text, target_stream_->description());
  EXPECT_EQ(text.find("rdma " + port_->device + " port 1 ("), 0u) << text;
  EXPECT_NE(text.find("GID " + port_->gid), std::string::npos) << text;
  EXPECT_NE(text.find(port_->host + " -> " + port_->host), std::string::npos) << text;
}

// A target that gives nothing back holds the source up by credits: every chunk that it has slots for gets
// there, and the device is not asked for more.
TEST_P(RdmaStreamTest, ASlowTargetBlocksTheSourceByCreditsOnly) {
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

TEST_P(RdmaStreamTest, AnEndBeforeTheLastAnswersIsInOrder) {
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

TEST_P(RdmaStreamTest, ATargetThatGoesAfterTheEndIsNoErrorAtTheSource) {
  start({1000, 2000});
  ASSERT_TRUE(run_until(*ring_, [this] { return target_->finished(); }));
  target_stream_.reset();
  ASSERT_TRUE(run_until(*ring_, [this] { return source_->finished(); }));
  EXPECT_FALSE(source_stream_->why_shut());
  EXPECT_FALSE(source_->error);
}

TEST_P(RdmaStreamTest, ASourceThatGoesAfterTheEndIsNoErrorAtTheTarget) {
  start({1000, 2000});
  ASSERT_TRUE(run_until(*ring_, [this] { return source_->finished(); }));
  source_stream_.reset();
  ASSERT_TRUE(run_until(*ring_, [this] { return target_->finished(); }));
  EXPECT_FALSE(target_stream_->why_shut());
  EXPECT_FALSE(target_->error);
}

TEST_P(RdmaStreamTest, ShutAtTheSourceEndsBothSides) {
  target_->releases = false;
  start(std::vector<std::size_t>(10, kShape.slot_bytes));
  ASSERT_TRUE(run_until(*ring_, [this] { return !target_->received.empty(); }));
  source_stream_->shut(io::plain_error(io::ErrorKind::interrupted, "copy", "", "stopped"));
  ASSERT_TRUE(finish());
  EXPECT_EQ(source_->error->detail, "stopped");
  ASSERT_TRUE(target_->error);
  EXPECT_EQ(target_->error->kind, io::ErrorKind::connection);
  EXPECT_EQ(target_->error->detail, "closed the connection before the end");
}

TEST_P(RdmaStreamTest, ShutAtTheTargetEndsBothSides) {
  target_->releases = false;
  start(std::vector<std::size_t>(10, kShape.slot_bytes));
  ASSERT_TRUE(run_until(*ring_, [this] { return !target_->received.empty(); }));
  target_stream_->shut(io::plain_error(io::ErrorKind::interrupted, "copy", "", "stopped"));
  ASSERT_TRUE(finish());
  EXPECT_EQ(target_->error->detail, "stopped");
  ASSERT_TRUE(source_->error);
  EXPECT_EQ(source_->error->kind, io::ErrorKind::connection);
  EXPECT_EQ(source_->error->detail, "closed the connection before the end");
}

// A target that dies leaves the source's device with writes that nobody acknowledges; their memory comes back
// all the same, when the device is done with it.
TEST_P(RdmaStreamTest, ATargetThatGoesInTheMiddleEndsTheSource) {
  start(std::vector<std::size_t>(1000, kShape.slot_bytes));
  ASSERT_TRUE(run_until(*ring_, [this] { return target_->received.size() > 5; }));
  target_stream_->shut(io::plain_error(io::ErrorKind::interrupted, "copy", "", "stopped"));
  ASSERT_TRUE(run_until(*ring_, [this] { return target_->finished(); }));
  target_stream_.reset();
  ASSERT_TRUE(run_until(*ring_, [this] { return source_->finished(); }));
  ASSERT_TRUE(source_->error);
  EXPECT_EQ(source_->error->kind, io::ErrorKind::connection);
}

TEST_P(RdmaStreamTest, AStreamThatNeverStartedCanBeDestroyed) {
  source_stream_.reset();
  target_stream_->start();
  target_->start(1);
  ASSERT_TRUE(run_until(*ring_, [this] { return target_->finished(); }));
  EXPECT_EQ(target_->error->detail, "closed the connection before the end");
}

// One worker thread a side, as in a copy.
TEST_P(RdmaStreamTest, TwoThreadsCopyManyChunks) {
  RdmaPair pair = make_rdma_pair(*port_, job_);
  ASSERT_EQ(pair.source.size(), 1u);
  io::Arena target_arena = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
  const auto source_stream = make_rdma_source(*ring_, std::move(pair.source[0]), kShape, source_arena_);
  SourceSide source{*source_stream, std::vector<std::size_t>(500, 5'000)};
  source.arena = &source_arena_;
  std::thread other([&] {
    const auto ring = test_ring(GetParam().ring);
    const auto stream = make_rdma_target(*ring, std::move(pair.target[0]), kShape, target_arena);
    TargetSide target{*stream, target_arena};
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
