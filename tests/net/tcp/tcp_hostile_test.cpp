// One side of a TCP stream against a peer that is played by hand: it is cut short, resets, or says what it
// must not say.
#include <gtest/gtest.h>

#include "net/tcp/tcp.h"
#include "tests/net/sockets/raw_receive.h"
#include "tests/net/stream/copy_harness.h"
#include "tests/net/tcp/tcp_pair.h"

namespace rdcp::net {
namespace {

constexpr StreamShape kTwoSlots{.target_slots = 2, .slot_bytes = 8192};

std::vector<std::byte> chunk_bytes(std::uint64_t file_id, std::uint32_t slot, std::size_t length) {
  std::vector<std::byte> payload(length);
  fill_chunk(file_id, payload);
  const FrameBytes header = encode(data_frame(file_id, slot, payload));
  std::vector<std::byte> bytes(header.size() + payload.size());
  std::ranges::copy(header, bytes.begin());
  std::ranges::copy(payload, bytes.begin() + kFrameBytes);
  return bytes;
}

class TcpTargetTest : public testing::Test {
 protected:
  void SetUp() override {
    make_blocking(pair_.source);
    stream_->start();
    target_.start(2);
  }
  bool finish() {
    return run_until(*ring_, [this] { return target_.finished(); });
  }
  bool receive_chunks(std::size_t count) {
    return run_until(*ring_, [this, count] { return target_.received.size() == count; });
  }
  void expect_error(io::ErrorKind kind, const char* text) {
    ASSERT_TRUE(finish());
    ASSERT_TRUE(target_.error);
    EXPECT_EQ(target_.error->kind, kind);
    EXPECT_NE(target_.error->message().find(text), std::string::npos) << target_.error->message();
    EXPECT_EQ(target_.ends_seen, 0u);
  }
  bool send(std::span<const std::byte> bytes) { return send_all(pair_.source, bytes); }
  bool send_first(std::size_t count, std::span<const std::byte> bytes) { return send(bytes.first(count)); }

  std::unique_ptr<io::Ring> ring_ = test_ring();
  TcpPair pair_;
  io::Arena arena_ = io::Arena::create(kTwoSlots.target_slots, kTwoSlots.slot_bytes).value();
  std::unique_ptr<Stream> stream_ = make_tcp_target(*ring_, std::move(pair_.target), kTwoSlots, arena_);
  TargetSide target_{*stream_, arena_};
};

TEST_F(TcpTargetTest, GrantsEachSlotOnce) {
  ASSERT_TRUE(ring_->run_once(std::chrono::seconds(0)));
  for (std::uint32_t slot = 0; slot < kTwoSlots.target_slots; ++slot) {
    FrameBytes bytes;
    ASSERT_TRUE(receive_all(pair_.source, bytes));
    EXPECT_EQ(*decode(bytes), credit_frame(slot, AckStatus::granted));
  }
  pair_.source.reset();
  ASSERT_TRUE(finish());
}

TEST_F(TcpTargetTest, AChunkThatComesByteByByteArrivesWhole) {
  for (const std::byte b : chunk_bytes(5, 1, 300)) {
    ASSERT_TRUE(send(std::span(&b, 1)));
    ASSERT_TRUE(ring_->run_once(std::chrono::seconds(0)));
  }
  ASSERT_TRUE(receive_chunks(1));
  EXPECT_EQ(target_.wrong, 0u);
  pair_.source.reset();
  ASSERT_TRUE(finish());
}

TEST_F(TcpTargetTest, ClosesItsSideAfterTheEnd) {
  ASSERT_TRUE(send(chunk_bytes(0, 0, 100)));
  ASSERT_TRUE(send(encode(Frame{})));
  ASSERT_TRUE(finish());
  EXPECT_FALSE(target_.error);
  stream_.reset();
  std::array<std::byte, 3 * kFrameBytes> credits;  // two grants and an answer
  EXPECT_TRUE(receive_all(pair_.source, credits));
  EXPECT_TRUE(is_closed(pair_.source));
}

TEST_F(TcpTargetTest, AConnectionThatClosesAtOnceIsAnError) {
  ASSERT_EQ(::shutdown(pair_.source.get(), SHUT_WR), 0);
  expect_error(io::ErrorKind::connection, "closed the connection before the end");
}

TEST_F(TcpTargetTest, ACutInAHeaderIsAnError) {
  ASSERT_TRUE(send_first(50, chunk_bytes(0, 0, 100)));
  pair_.source.reset();
  expect_error(io::ErrorKind::connection, "peer 127.0.0.1:");
}

TEST_F(TcpTargetTest, ACutInAPayloadIsAnError) {
  ASSERT_TRUE(send_first(150, chunk_bytes(0, 0, 100)));
  pair_.source.reset();
  expect_error(io::ErrorKind::connection, "peer 127.0.0.1:");
  EXPECT_TRUE(target_.received.empty());
}

TEST_F(TcpTargetTest, ACutBetweenChunksIsAnError) {
  ASSERT_TRUE(send(chunk_bytes(0, 0, 100)));
  ASSERT_TRUE(receive_chunks(1));
  pair_.source.reset();
  expect_error(io::ErrorKind::connection, "peer 127.0.0.1:");
}

TEST_F(TcpTargetTest, AResetIsAnError) {
  ASSERT_TRUE(send_first(150, chunk_bytes(0, 0, 100)));
  reset_on_close(pair_.source);
  pair_.source.reset();
  expect_error(io::ErrorKind::connection, "Connection reset");
}

TEST_F(TcpTargetTest, GarbageIsAProtocolError) {
  const std::vector<std::byte> garbage(kFrameBytes, std::byte{'x'});
  ASSERT_TRUE(send(garbage));
  expect_error(io::ErrorKind::protocol, "not a frame");
}

TEST_F(TcpTargetTest, ADamagedHeaderIsAProtocolError) {
  auto bytes = chunk_bytes(0, 0, 100);
  bytes[20] ^= std::byte{1};
  ASSERT_TRUE(send(bytes));
  expect_error(io::ErrorKind::protocol, "damaged frame");
}

TEST_F(TcpTargetTest, AChunkForABusySlotTouchesNothing) {
  target_.releases = false;
  ASSERT_TRUE(send(chunk_bytes(0, 1, 100)));
  ASSERT_TRUE(receive_chunks(1));
  ASSERT_TRUE(send(chunk_bytes(7, 1, 100)));
  expect_error(io::ErrorKind::protocol, "not granted");
  std::vector<std::byte> first(100);
  fill_chunk(0, first);
  EXPECT_TRUE(std::ranges::equal(first, arena_.slot(1).first(100)));
}

TEST_F(TcpTargetTest, ASlotThatDoesNotExistIsAProtocolError) {
  ASSERT_TRUE(send(chunk_bytes(0, kTwoSlots.target_slots, 100)));
  expect_error(io::ErrorKind::protocol, "does not exist");
}

TEST_F(TcpTargetTest, AChunkLongerThanASlotIsAProtocolError) {
  ASSERT_TRUE(send(chunk_bytes(0, 0, kTwoSlots.slot_bytes + 1)));
  expect_error(io::ErrorKind::protocol, "longer than a slot");
}

TEST_F(TcpTargetTest, ACreditIsAProtocolError) {
  ASSERT_TRUE(send(encode(credit_frame(0, AckStatus::done))));
  expect_error(io::ErrorKind::protocol, "only a target");
}

// Guessing which slots are free, it never reads a credit: they pile up until the socket takes no more of
// them. Over a local socket, since a TCP peer whose window is full of small segments also drops our
// acknowledgements.
TEST(TcpTarget, ASourceThatReadsNoCreditsIsStopped) {
  const auto ring = test_ring();
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const io::Fd source(ends[0]);
  io::Arena arena = io::Arena::create(kTwoSlots.target_slots, kTwoSlots.slot_bytes).value();
  const auto stream = make_tcp_target(*ring, io::Fd(ends[1]), kTwoSlots, arena);
  TargetSide target{*stream, arena};
  stream->start();
  target.start(2);
  const auto one = chunk_bytes(0, 0, 1);
  ASSERT_TRUE(run_until(*ring, [&] {
    ::send(source.get(), one.data(), one.size(), MSG_NOSIGNAL);
    return target.finished();
  }));
  EXPECT_EQ(target.error->kind, io::ErrorKind::protocol);
  EXPECT_NE(target.error->message().find("had not read"), std::string::npos) << target.error->message();
}

// It takes the grants for granted, and uses each slot before they are sent.
TEST(TcpTarget, ASourceMayUseEachSlotOnceBeforeItHasReadItsGrant) {
  const auto ring = test_ring();
  UnixPair pair;
  const std::vector<std::byte> filler(4096);
  std::size_t filled = 0;
  for (ssize_t put = 1; put > 0; filled += put > 0 ? put : 0) {
    put = ::send(pair.target.get(), filler.data(), filler.size(), MSG_NOSIGNAL);
  }
  io::Arena arena = io::Arena::create(kTwoSlots.target_slots, kTwoSlots.slot_bytes).value();
  const auto stream = make_tcp_target(*ring, std::move(pair.target), kTwoSlots, arena);
  TargetSide target{*stream, arena};
  stream->start();
  target.start(2);
  for (const std::uint32_t slot : {0u, 1u}) ASSERT_TRUE(send_all(pair.source, chunk_bytes(slot, slot, 100)));
  ASSERT_TRUE(run_until(*ring, [&] { return target.received.size() == 2 || target.finished(); }));
  ASSERT_TRUE(send_all(pair.source, encode(Frame{})));
  make_blocking(pair.source);
  std::vector<std::byte> fillers(filled);
  ASSERT_TRUE(receive_all(pair.source, fillers));
  ASSERT_TRUE(run_until(*ring, [&] { return target.finished(); }));
  EXPECT_FALSE(target.error) << target.error->message();
  std::array<std::byte, 4 * kFrameBytes> credits;  // two grants and two answers
  EXPECT_TRUE(receive_all(pair.source, credits));
}

class TcpSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    make_blocking(pair_.target);
    stream_->start();
    source_.start(2);
  }
  bool finish() {
    return run_until(*ring_, [this] { return source_.finished(); });
  }
  bool send_credit(std::uint32_t slot, AckStatus status) {
    return send_all(pair_.target, encode(credit_frame(slot, status)));
  }
  bool send_chunks(std::size_t count) {
    return run_until(*ring_, [this, count] { return stream_->counters().frames == count; });
  }
  void expect_error(io::ErrorKind kind, const char* text) {
    ASSERT_TRUE(finish());
    ASSERT_TRUE(source_.error);
    EXPECT_EQ(source_.error->kind, kind);
    EXPECT_NE(source_.error->message().find(text), std::string::npos) << source_.error->message();
  }

  std::unique_ptr<io::Ring> ring_ = test_ring();
  TcpPair pair_;
  std::unique_ptr<Stream> stream_ = make_tcp_source(*ring_, std::move(pair_.source), kTwoSlots);
  SourceSide source_{*stream_, {100, 200}};
};

TEST_F(TcpSourceTest, ACutBeforeTheFirstCreditIsAnError) {
  pair_.target.reset();
  expect_error(io::ErrorKind::connection, "peer 127.0.0.1:");
}

TEST_F(TcpSourceTest, ACutInACreditIsAnError) {
  const FrameBytes credit = encode(credit_frame(0, AckStatus::granted));
  ASSERT_TRUE(send_all(pair_.target, std::span(credit).first(40)));
  pair_.target.reset();
  expect_error(io::ErrorKind::connection, "peer 127.0.0.1:");
}

TEST_F(TcpSourceTest, ACutBeforeTheAnswerIsAnError) {
  ASSERT_TRUE(send_chunks(2));  // which wait for no grants
  std::array<std::byte, kFrameBytes + 100> chunk;
  ASSERT_TRUE(receive_all(pair_.target, chunk));
  pair_.target.reset();
  expect_error(io::ErrorKind::connection, "peer 127.0.0.1:");
}

TEST_F(TcpSourceTest, AResetIsAnError) {
  ASSERT_TRUE(send_chunks(2));  // which wait for no grants
  reset_on_close(pair_.target);
  pair_.target.reset();
  expect_error(io::ErrorKind::connection, "peer 127.0.0.1:");
}

TEST_F(TcpSourceTest, AnAnswerForAChunkThatIsNotUnderWayIsAProtocolError) {
  ASSERT_TRUE(send_chunks(2));
  ASSERT_TRUE(send_credit(1, AckStatus::done));
  ASSERT_TRUE(send_credit(1, AckStatus::done));
  expect_error(io::ErrorKind::protocol, "not under way");
}

TEST_F(TcpSourceTest, ASecondGrantIsAProtocolError) {
  ASSERT_TRUE(send_credit(1, AckStatus::granted));
  ASSERT_TRUE(send_credit(1, AckStatus::granted));
  expect_error(io::ErrorKind::protocol, "twice");
}

TEST_F(TcpSourceTest, ASlotThatDoesNotExistIsAProtocolError) {
  ASSERT_TRUE(send_credit(kTwoSlots.target_slots, AckStatus::granted));
  expect_error(io::ErrorKind::protocol, "does not have");
}

TEST_F(TcpSourceTest, AChunkFromTheTargetIsAProtocolError) {
  ASSERT_TRUE(send_all(pair_.target, chunk_bytes(0, 0, 10)));
  expect_error(io::ErrorKind::protocol, "only a source");
}

TEST_F(TcpSourceTest, GarbageIsAProtocolError) {
  const std::vector<std::byte> garbage(kFrameBytes, std::byte{'x'});
  ASSERT_TRUE(send_all(pair_.target, garbage));
  expect_error(io::ErrorKind::protocol, "not a frame");
}

TEST_F(TcpSourceTest, ClosesItsSideAfterTheEndWithoutWaitingForTheTarget) {
  for (std::uint32_t slot : {0u, 1u}) ASSERT_TRUE(send_credit(slot, AckStatus::granted));
  ASSERT_TRUE(send_chunks(2));
  for (std::uint32_t slot : {0u, 1u}) ASSERT_TRUE(send_credit(slot, AckStatus::done));
  ASSERT_TRUE(finish());
  EXPECT_FALSE(source_.error);
  EXPECT_FALSE(stream_->why_shut());
  stream_.reset();
  std::array<std::byte, 2 * kFrameBytes + 300> chunks;
  ASSERT_TRUE(receive_all(pair_.target, chunks));
  FrameBytes end;
  ASSERT_TRUE(receive_all(pair_.target, end));
  EXPECT_EQ(*decode(end), Frame{});
  EXPECT_TRUE(is_closed(pair_.target));
}

}  // namespace
}  // namespace rdcp::net
