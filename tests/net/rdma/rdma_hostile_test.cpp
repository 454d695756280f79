// One side of an RDMA stream against a peer that is played by hand: it is cut short, or does what it must
// not.
#include <gtest/gtest.h>

#include "net/rdma/rdma.h"
#include "tests/net/rdma/rdma_pair.h"
#include "tests/net/rdma/rdma_raw.h"
#include "tests/net/stream/copy_harness.h"

namespace rdcp::net {
namespace {

constexpr StreamShape kShape{.target_slots = 2, .slot_bytes = 8192};

class RdmaHostileTest : public testing::Test {
 protected:
  // Returns false if the test is skipped.
  void connect() {
    const auto port = find_port(WhichPort::ipv4);
    if (!port) GTEST_SKIP() << "no RDMA device";
    job_.slots = kShape.target_slots;
    iwarp_ = port->link == LinkKind::iwarp;
    pair_ = make_rdma_pair(*port, job_);
    ASSERT_EQ(pair_.source.size(), 1u);
  }

  // What the end says whose device, or whose peer's, has refused a request. iWARP's answer to that is to
  // close the connection.
  const char* said_of_refusal(const char* otherwise) const {
    return iwarp_ ? "closed the connection before the end" : otherwise;
  }
  // The peer's device tells it which request was refused; that of iWARP only that the connection has ended.
  void expect_refusal(std::optional<ibv_wc_status> found) const {
    ASSERT_TRUE(found);
    EXPECT_TRUE(iwarp_ || *found == IBV_WC_REM_ACCESS_ERR) << ibv_wc_status_str(*found);
  }

  RdmaJob job_;
  bool iwarp_ = false;
  RdmaPair pair_;
  std::unique_ptr<io::Ring> ring_ = test_ring();
  io::Arena arena_ = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
};

class RdmaTargetTest : public RdmaHostileTest {
 protected:
  void SetUp() override {
    connect();
    if (pair_.source.empty()) return;
    peer_.emplace(std::move(pair_.source[0]));
    stream_ = make_rdma_target(*ring_, std::move(pair_.target[0]), kShape, arena_);
    target_.emplace(TargetSide{*stream_, arena_});
    stream_->start();
    target_->start(2);
    region_ = peer_->receive_region(kShape.target_slots);
  }
  bool finish() {
    return run_until(*ring_, [this] { return target_->finished(); });
  }
  bool receive_chunks(std::size_t count) {
    return run_until(*ring_, [this, count] { return target_->received.size() == count; });
  }
  // As an honest source does it.
  Frame chunk(std::uint64_t file_id, std::uint32_t slot, std::size_t length) {
    fill_chunk(file_id, peer_->memory().first(length));
    return data_frame(file_id, slot, peer_->memory().first(length));
  }
  bool send_chunk(const Frame& frame) {
    return peer_->write(frame.length, address_of(frame.slot), region_.rkey, encode(frame));
  }
  std::uint64_t address_of(std::uint32_t slot) const { return region_.address + slot * region_.slot_bytes; }
  void expect_error(io::ErrorKind kind, const char* text) {
    ASSERT_TRUE(finish());
    ASSERT_TRUE(target_->error);
    EXPECT_EQ(target_->error->kind, kind);
    EXPECT_NE(target_->error->message().find(text), std::string::npos) << target_->error->message();
  }

  SlotRegion region_;
  std::optional<RawEnd> peer_;
  std::unique_ptr<Stream> stream_;
  std::optional<TargetSide> target_;
};

TEST_F(RdmaTargetTest, SaysWhereItsSlotsAreAndTakesAChunk) {
  EXPECT_EQ(region_.address, reinterpret_cast<std::uint64_t>(arena_.all().data()));
  EXPECT_EQ(region_.slots, kShape.target_slots);
  EXPECT_EQ(region_.slot_bytes, kShape.slot_bytes);
  ASSERT_TRUE(send_chunk(chunk(7, 1, 8192)));
  ASSERT_TRUE(receive_chunks(1));
  EXPECT_EQ(target_->wrong, 0u);
  ASSERT_TRUE(peer_->send(encode(Frame{})));
  ASSERT_TRUE(finish());
  EXPECT_FALSE(target_->error);
}

TEST_F(RdmaTargetTest, AConnectionThatClosesAtOnceIsAnError) {
  peer_->disconnect();
  expect_error(io::ErrorKind::connection, "closed the connection before the end");
}

TEST_F(RdmaTargetTest, ACutBetweenChunksIsAnErrorAndWhatCameBeforeCounts) {
  ASSERT_TRUE(send_chunk(chunk(0, 0, 100)));
  ASSERT_TRUE(receive_chunks(1));
  peer_->disconnect();
  expect_error(io::ErrorKind::connection, "closed the connection before the end");
  EXPECT_EQ(target_->wrong, 0u);
}

TEST_F(RdmaTargetTest, APeerThatGoesWithoutAWordIsAnError) {
  peer_.reset();
  expect_error(io::ErrorKind::connection, "closed the connection before the end");
}

TEST_F(RdmaTargetTest, GarbageIsAProtocolError) {
  ASSERT_TRUE(peer_->send(std::vector<std::byte>(kFrameBytes, std::byte{'x'})));
  expect_error(io::ErrorKind::protocol, "not a frame");
}

TEST_F(RdmaTargetTest, AShortMessageIsAProtocolError) {
  ASSERT_TRUE(peer_->send(std::vector<std::byte>(kFrameBytes - 1, std::byte{'x'})));
  expect_error(io::ErrorKind::protocol, "not a frame");
}

TEST_F(RdmaTargetTest, AMessageWithoutBytesIsAProtocolError) {
  if (iwarp_) GTEST_SKIP() << "it is a beat";
  ASSERT_TRUE(peer_->send({}));
  expect_error(io::ErrorKind::protocol, "not a frame");
}

TEST_F(RdmaTargetTest, AMessageLongerThanAFrameIsAnError) {
  ASSERT_TRUE(peer_->send_long(4096));
  expect_error(io::ErrorKind::connection, "peer ");
}

// Its completion tells the length of the write, which is much more than any message has.
TEST_F(RdmaTargetTest, AWriteWithImmediateDataIsNotTakenForAMessage) {
  if (iwarp_) GTEST_SKIP() << "iWARP has none (RFC 5040)";
  ASSERT_TRUE(peer_->write_with_immediate(kShape.slot_bytes, address_of(0), region_.rkey));
  expect_error(io::ErrorKind::connection, "peer ");
  EXPECT_TRUE(target_->received.empty());
}

TEST_F(RdmaTargetTest, NorIsOneThatIsAsLongAsAMessage) {
  if (iwarp_) GTEST_SKIP() << "iWARP has none (RFC 5040)";
  ASSERT_TRUE(peer_->write_with_immediate(kFrameBytes, address_of(0), region_.rkey));
  expect_error(io::ErrorKind::connection, "peer ");
}

TEST_F(RdmaTargetTest, ADamagedFrameIsAProtocolError) {
  FrameBytes bytes = encode(chunk(0, 0, 100));
  bytes[20] ^= std::byte{1};
  ASSERT_TRUE(peer_->write(100, address_of(0), region_.rkey, bytes));
  expect_error(io::ErrorKind::protocol, "damaged frame");
}

TEST_F(RdmaTargetTest, AChunkForABusySlotIsAProtocolError) {
  target_->releases = false;
  ASSERT_TRUE(send_chunk(chunk(0, 1, 100)));
  ASSERT_TRUE(receive_chunks(1));
  ASSERT_TRUE(send_chunk(chunk(0, 1, 100)));
  expect_error(io::ErrorKind::protocol, "not granted");
}

TEST_F(RdmaTargetTest, ASlotThatDoesNotExistIsAProtocolError) {
  ASSERT_TRUE(peer_->send(encode(chunk(0, kShape.target_slots, 100))));
  expect_error(io::ErrorKind::protocol, "does not exist");
}

TEST_F(RdmaTargetTest, AChunkThatSaysToBeLongerThanASlotIsAProtocolError) {
  ASSERT_TRUE(peer_->send(encode(chunk(0, 0, kShape.slot_bytes + 1))));
  expect_error(io::ErrorKind::protocol, "longer than a slot");
}

TEST_F(RdmaTargetTest, ACreditIsAProtocolError) {
  ASSERT_TRUE(peer_->send(encode(credit_frame(0, AckStatus::done))));
  expect_error(io::ErrorKind::protocol, "only a target");
}

TEST_F(RdmaTargetTest, AFrameAfterTheEndIsAProtocolError) {
  target_->releases = false;
  ASSERT_TRUE(send_chunk(chunk(0, 0, 100)));
  ASSERT_TRUE(receive_chunks(1));
  ASSERT_TRUE(peer_->send(encode(Frame{})));
  ASSERT_TRUE(send_chunk(chunk(0, 1, 100)));
  ASSERT_TRUE(finish());
  ASSERT_TRUE(stream_->why_shut());
  EXPECT_NE(stream_->why_shut()->message().find("after the end"), std::string::npos)
      << stream_->why_shut()->message();
}

// Its device is refused by ours; the bytes behind the slots stay as they were.
TEST_F(RdmaTargetTest, AWriteBeyondTheSlotsIsRefusedByTheDevice) {
  const Frame frame = chunk(0, 1, 8192);
  ASSERT_TRUE(peer_->write(8192, address_of(1) + 1, region_.rkey, encode(frame)));
  expect_error(io::ErrorKind::connection, said_of_refusal("the queue pair failed"));
  expect_refusal(peer_->failure());
  EXPECT_TRUE(target_->received.empty());
}

TEST_F(RdmaTargetTest, AWriteWithAWrongKeyIsRefusedByTheDevice) {
  ASSERT_TRUE(peer_->write(100, address_of(1), region_.rkey + 1, encode(chunk(0, 1, 100))));
  expect_error(io::ErrorKind::connection, said_of_refusal("the queue pair failed"));
  expect_refusal(peer_->failure());
}

// Guessing which slots are free, it takes no credit any more: its device has no receives left, and ours gives
// up.
TEST_F(RdmaTargetTest, ASourceThatTakesNoCreditsIsStopped) {
  std::uint64_t sent = 0;
  ASSERT_TRUE(run_until(*ring_, [&] {
    std::array<RdmaQueue::Completion, 16> room;
    peer_->queue().poll(room);
    const std::size_t arrived = target_->received.size();
    if (sent == arrived && peer_->queue().can_send()) sent += send_chunk(chunk(sent, 0, 1)) ? 1 : 0;
    return target_->finished();
  }));
  ASSERT_TRUE(target_->error);
  const std::string message = target_->error->message();
  EXPECT_TRUE(message.find("does not take data") != std::string::npos ||
              message.find("had not read") != std::string::npos ||
              message.find(said_of_refusal("had not read")) != std::string::npos)
      << message;
}

// Both sides only wait. The device of a peer that lives answers, so nothing happens however long it takes.
// The clock that the stream is told runs fifty times as fast as the real one.
TEST_F(RdmaTargetTest, APeerThatSaysNothingIsLeftInPeace) {
  if (iwarp_) GTEST_SKIP() << "it would have to beat";
  const auto began = io::Clock::now();
  const auto lasted = [&] { return 50 * (io::Clock::now() - began); };
  ASSERT_TRUE(run_until(*ring_, [&] {
    stream_->check_connection(began + lasted());
    return target_->finished() || lasted() > 4 * kUnreachableMax;
  }));
  EXPECT_FALSE(target_->error) << target_->error->message();
  peer_->disconnect();
  ASSERT_TRUE(finish());
}

TEST_F(RdmaTargetTest, APeerWhoseDeviceAnswersNoMoreIsNoticedThoughThisSideOnlyWaits) {
  if (iwarp_) GTEST_SKIP() << "a queue pair that is destroyed closes the connection";
  peer_->queue().destroy_queue_pair();
  const auto began = io::Clock::now();
  const auto probed = began + std::chrono::seconds(6);
  stream_->check_connection(probed);
  stream_->check_connection(began + kUnreachableMax);
  EXPECT_FALSE(target_->finished()) << "a probe has its time, whenever it was sent";
  stream_->check_connection(probed + kUnreachableMax);
  ASSERT_TRUE(finish());
  expect_error(io::ErrorKind::connection, "does not answer any more");
}

class RdmaSourceTest : public RdmaHostileTest {
 protected:
  void SetUp() override {
    connect();
    if (pair_.source.empty()) return;
    peer_.emplace(std::move(pair_.target[0]));
    stream_ = make_rdma_source(*ring_, std::move(pair_.source[0]), kShape, arena_);
    source_.emplace(SourceSide{*stream_, {100, 200}});
    source_->arena = &arena_;
    stream_->start();
    source_->start(2);
  }
  SlotRegion region() {
    return {reinterpret_cast<std::uint64_t>(peer_->memory().data()), kShape.slot_bytes, kShape.target_slots,
            peer_->rkey()};
  }
  bool send_credit(std::uint32_t slot, AckStatus status) {
    return peer_->send(encode(credit_frame(slot, status)));
  }
  bool grant_all() {
    return peer_->send(encode(region())) && send_credit(0, AckStatus::granted) &&
           send_credit(1, AckStatus::granted);
  }
  bool send_chunks(std::size_t count) {
    return run_until(*ring_, [this, count] { return stream_->counters().frames == count; });
  }
  bool finish() {
    return run_until(*ring_, [this] { return source_->finished(); });
  }
  void expect_error(io::ErrorKind kind, const char* text) {
    ASSERT_TRUE(finish());
    ASSERT_TRUE(source_->error);
    EXPECT_EQ(source_->error->kind, kind);
    EXPECT_NE(source_->error->message().find(text), std::string::npos) << source_->error->message();
  }

  std::optional<RawEnd> peer_;
  std::unique_ptr<Stream> stream_;
  std::optional<SourceSide> source_;
};

TEST_F(RdmaSourceTest, WritesPayloadsWhereTheSlotsAre) {
  ASSERT_TRUE(grant_all());
  ASSERT_TRUE(send_chunks(2));
  std::vector<std::byte> expected(200);
  for (int i = 0; i < 2; ++i) {
    const auto message = peer_->receive();
    ASSERT_TRUE(message && message->size() == kFrameBytes);
    const auto frame = decode(std::span(*message).first<kFrameBytes>());
    ASSERT_TRUE(frame);
    fill_chunk(frame->file_id, std::span(expected).first(frame->length));
    EXPECT_TRUE(std::ranges::equal(std::span(expected).first(frame->length),
                                   peer_->memory().subspan(frame->slot * kShape.slot_bytes, frame->length)));
  }
  for (std::uint32_t slot : {0u, 1u}) ASSERT_TRUE(send_credit(slot, AckStatus::done));
  ASSERT_TRUE(finish());
  EXPECT_FALSE(source_->error);
}

TEST_F(RdmaSourceTest, ACutBeforeTheFirstCreditIsAnError) {
  peer_->disconnect();
  expect_error(io::ErrorKind::connection, "closed the connection before the end");
}

TEST_F(RdmaSourceTest, ACutBeforeTheAnswerIsAnError) {
  ASSERT_TRUE(grant_all());
  ASSERT_TRUE(send_chunks(2));
  peer_->disconnect();
  expect_error(io::ErrorKind::connection, "closed the connection before the end");
}

TEST_F(RdmaSourceTest, APeerThatGoesWithoutAWordIsAnError) {
  ASSERT_TRUE(grant_all());
  ASSERT_TRUE(send_chunks(2));
  peer_.reset();
  expect_error(io::ErrorKind::connection, "closed the connection before the end");
}

TEST_F(RdmaSourceTest, ACreditBeforeTheRegionIsAProtocolError) {
  ASSERT_TRUE(send_credit(0, AckStatus::granted));
  expect_error(io::ErrorKind::protocol, "did not say where its slots are");
}

TEST_F(RdmaSourceTest, ARegionThatIsTooSmallIsAProtocolError) {
  SlotRegion small = region();
  --small.slot_bytes;
  ASSERT_TRUE(peer_->send(encode(small)));
  expect_error(io::ErrorKind::protocol, "fewer or smaller slots");
}

TEST_F(RdmaSourceTest, ARegionThatItMayNotWriteToIsAnError) {
  SlotRegion lie = region();
  lie.rkey += 1;
  ASSERT_TRUE(peer_->send(encode(lie)) && send_credit(0, AckStatus::granted));
  expect_error(io::ErrorKind::connection, said_of_refusal("refused access to its memory"));
}

TEST_F(RdmaSourceTest, AnAnswerForAChunkThatIsNotUnderWayIsAProtocolError) {
  ASSERT_TRUE(peer_->send(encode(region())) && send_credit(1, AckStatus::done));
  expect_error(io::ErrorKind::protocol, "not under way");
}

TEST_F(RdmaSourceTest, ASecondGrantIsAProtocolError) {
  ASSERT_TRUE(grant_all() && send_credit(1, AckStatus::granted));
  expect_error(io::ErrorKind::protocol, "twice");
}

TEST_F(RdmaSourceTest, ASlotThatDoesNotExistIsAProtocolError) {
  ASSERT_TRUE(peer_->send(encode(region())) && send_credit(kShape.target_slots, AckStatus::granted));
  expect_error(io::ErrorKind::protocol, "does not have");
}

TEST_F(RdmaSourceTest, AChunkFromTheTargetIsAProtocolError) {
  const std::vector<std::byte> payload(10);
  ASSERT_TRUE(peer_->send(encode(region())) && peer_->send(encode(data_frame(0, 0, payload))));
  expect_error(io::ErrorKind::protocol, "only a source");
}

TEST_F(RdmaSourceTest, GarbageIsAProtocolError) {
  ASSERT_TRUE(peer_->send(encode(region())));
  ASSERT_TRUE(peer_->send(std::vector<std::byte>(kFrameBytes, std::byte{'x'})));
  expect_error(io::ErrorKind::protocol, "not a frame");
}

// More messages than it may send only meet a device without receives for a while, its own.
TEST_F(RdmaSourceTest, AFloodOfGrantsIsAProtocolError) {
  ASSERT_TRUE(peer_->send(encode(region())));
  while (peer_->queue().can_send()) ASSERT_TRUE(send_credit(0, AckStatus::granted));
  expect_error(io::ErrorKind::protocol, "twice");
}

}  // namespace
}  // namespace rdcp::net
