// The accounts that every transport shares, over a transport that only writes down what it is told.
#include "net/stream/stream.h"

#include <gtest/gtest.h>

#include "tests/net/stream/copy_harness.h"

namespace rdcp::net {
namespace {

constexpr StreamShape kThreeSlots{.target_slots = 3, .slot_bytes = 4096};

class RecordingStream : public Stream {
 public:
  using Stream::accept;
  using Stream::complete_send;
  using Stream::deliver;
  using Stream::over;
  using Stream::Side;
  using Stream::take_for_granted;

  RecordingStream(io::Ring& ring, Side side) : Stream(ring, side, kThreeSlots, "10.0.0.9:1") {}
  void start() override { grant_all(); }
  bool idle() const override { return true; }
  std::string description() const override { return "recording"; }

  // A frame from the other side.
  io::Result<void> arrive(const Frame& frame) {
    auto accepted = accept(frame);
    if (accepted) deliver(frame);
    return accepted;
  }

  std::vector<SendAwaiter*> sends;
  std::vector<std::pair<std::uint32_t, AckStatus>> credits;
  int closings = 0;

 private:
  void post_send(SendAwaiter& awaiter) override { sends.push_back(&awaiter); }
  void post_credit(const Frame& credit) override { credits.emplace_back(credit.slot, credit.status); }
  void close_connection() override { ++closings; }
};

Frame chunk_frame(std::uint32_t slot, std::uint32_t length = 1, FrameKind kind = FrameKind::data) {
  Frame frame;
  frame.kind = kind;
  frame.slot = slot;
  frame.length = length;
  return frame;
}

// Holds the outcome of one await.
template <class T>
struct Outcome {
  std::optional<io::Result<T>> result{};
  io::Task task{};
};

io::Task await_credit(Stream& stream, Outcome<std::uint32_t>& outcome) {
  outcome.result.emplace(co_await stream.credit());
}
io::Task await_send(Stream& stream, Frame frame, std::span<const std::byte> payload, Outcome<void>& outcome) {
  outcome.result.emplace(co_await stream.send(frame, payload));
}
io::Task await_answer(Stream& stream, std::uint32_t slot, Outcome<AckStatus>& outcome) {
  outcome.result.emplace(co_await stream.acknowledged(slot));
}
io::Task await_verdicts(Stream& stream, std::uint32_t slot, Verdicts& verdicts, Outcome<AckStatus>& outcome) {
  outcome.result.emplace(co_await stream.acknowledged(slot, &verdicts));
}
io::Task await_receive(Stream& stream, Outcome<std::optional<Frame>>& outcome) {
  outcome.result.emplace(co_await stream.receive());
}

class StreamTest : public testing::Test {
 protected:
  void turn() { ASSERT_TRUE(ring_->run_once(std::chrono::seconds(0))); }

  void credit(Outcome<std::uint32_t>& outcome) {
    outcome.task = await_credit(source_, outcome);
    outcome.task.start();
  }
  void send(std::uint32_t slot, Outcome<void>& outcome, FrameKind kind = FrameKind::data) {
    outcome.task = await_send(source_, chunk_frame(slot, 1, kind), std::span(payload_).first(1), outcome);
    outcome.task.start();
  }
  void answer(std::uint32_t slot, Outcome<AckStatus>& outcome) {
    outcome.task = await_answer(source_, slot, outcome);
    outcome.task.start();
  }
  void receive(Outcome<std::optional<Frame>>& outcome) {
    outcome.task = await_receive(target_, outcome);
    outcome.task.start();
  }
  // A slot that is sent and not yet answered.
  void make_busy(std::uint32_t slot, FrameKind kind = FrameKind::data) {
    ASSERT_TRUE(source_.arrive(credit_frame(slot, AckStatus::granted)));
    credit(busy_credit_);
    ASSERT_EQ(**busy_credit_.result, slot);
    send(slot, busy_send_, kind);
    source_.complete_send(*source_.sends.back());
    turn();
    ASSERT_TRUE(*busy_send_.result);
  }
  void expect_violation(const RecordingStream& stream, const io::Result<void>& accepted) {
    ASSERT_FALSE(accepted);
    EXPECT_EQ(accepted.error().kind, io::ErrorKind::protocol);
    EXPECT_EQ(accepted.error().message().find("peer 10.0.0.9:1: "), 0u) << accepted.error().message();
    ASSERT_TRUE(stream.why_shut());
    EXPECT_EQ(stream.closings, 1);
  }

  std::unique_ptr<io::Ring> ring_ = test_ring();
  std::array<std::byte, kThreeSlots.slot_bytes> payload_{};
  RecordingStream source_{*ring_, RecordingStream::Side::source};
  RecordingStream target_{*ring_, RecordingStream::Side::target};
  Outcome<std::uint32_t> busy_credit_;
  Outcome<void> busy_send_;
};

TEST_F(StreamTest, CreditWaitsUntilASlotIsGranted) {
  Outcome<std::uint32_t> outcome;
  credit(outcome);
  turn();
  EXPECT_FALSE(outcome.result);
  ASSERT_TRUE(source_.arrive(credit_frame(2, AckStatus::granted)));
  turn();
  ASSERT_TRUE(outcome.result);
  EXPECT_EQ(**outcome.result, 2u);
  EXPECT_GT(source_.counters().times.credit_ns, 0u);
}

TEST_F(StreamTest, ASlotIsHandedOutOnceUntilItIsAnswered) {
  make_busy(1);
  Outcome<std::uint32_t> second;
  credit(second);
  Outcome<AckStatus> answered;
  answer(1, answered);
  turn();
  EXPECT_FALSE(second.result);
  EXPECT_FALSE(answered.result);
  ASSERT_TRUE(source_.arrive(credit_frame(1, AckStatus::bad_digest)));
  turn();
  ASSERT_TRUE(answered.result);
  EXPECT_EQ(**answered.result, AckStatus::bad_digest);
  turn();
  ASSERT_TRUE(second.result);
  EXPECT_EQ(**second.result, 1u);
}

TEST_F(StreamTest, VerdictsComeWithTheAnswer) {
  make_busy(1, FrameKind::compare);
  Verdicts given;
  given.set(0, 2);
  given.set(127, 3);
  Frame frame = credit_frame(1, AckStatus::done);
  frame.set_verdicts(given);
  ASSERT_TRUE(source_.arrive(frame));
  Verdicts heard;
  Outcome<AckStatus> answered;
  answered.task = await_verdicts(source_, 1, heard, answered);
  answered.task.start();
  turn();
  ASSERT_TRUE(answered.result);
  EXPECT_EQ(heard, given);
  EXPECT_EQ(heard.at(0), 2);
  EXPECT_EQ(heard.at(1), 0);
  EXPECT_EQ(heard.at(127), 3);
}

// If it were taken, the source would send the same extent for ever.
TEST_F(StreamTest, AnAnswerThatDoesNotFitTheChunkEndsTheStream) {
  make_busy(1);
  expect_violation(source_, source_.arrive(credit_frame(1, AckStatus::unsupported)));
}

TEST_F(StreamTest, AnAnswerThatCameFirstIsKept) {
  make_busy(0);
  ASSERT_TRUE(source_.arrive(credit_frame(0, AckStatus::refused)));
  Outcome<AckStatus> answered;
  answer(0, answered);
  ASSERT_TRUE(answered.result);
  EXPECT_EQ(**answered.result, AckStatus::refused);
}

TEST_F(StreamTest, WaitersAreServedInTheOrderInWhichTheyCame) {
  Outcome<std::uint32_t> first, second;
  credit(first);
  credit(second);
  ASSERT_TRUE(source_.arrive(credit_frame(0, AckStatus::granted)));
  turn();
  EXPECT_TRUE(first.result);
  EXPECT_FALSE(second.result);
  ASSERT_TRUE(source_.arrive(credit_frame(1, AckStatus::granted)));
  turn();
  EXPECT_TRUE(second.result);
}

TEST_F(StreamTest, SendEndsWhenTheTransportIsDone) {
  ASSERT_TRUE(source_.arrive(credit_frame(0, AckStatus::granted)));
  Outcome<std::uint32_t> credited;
  credit(credited);
  Outcome<void> sent;
  send(0, sent);
  turn();
  EXPECT_FALSE(sent.result);
  source_.complete_send(*source_.sends.at(0));
  turn();
  ASSERT_TRUE(sent.result);
  EXPECT_TRUE(*sent.result);
  EXPECT_EQ(source_.counters().frames, 1u);
  EXPECT_EQ(source_.counters().payload_bytes, 1u);
}

TEST_F(StreamTest, TheTargetGrantsEverySlotOnce) {
  target_.start();
  const std::vector<std::pair<std::uint32_t, AckStatus>> expected = {
      {0, AckStatus::granted}, {1, AckStatus::granted}, {2, AckStatus::granted}};
  EXPECT_EQ(target_.credits, expected);
}

TEST_F(StreamTest, ReceiversGetChunksInOrderAndThenTheEnd) {
  target_.start();
  ASSERT_TRUE(target_.arrive(chunk_frame(2)));
  ASSERT_TRUE(target_.arrive(chunk_frame(0)));
  ASSERT_TRUE(target_.arrive(Frame{}));
  Outcome<std::optional<Frame>> first, second, third, fourth;
  receive(first);
  receive(second);
  receive(third);
  receive(fourth);
  EXPECT_EQ((**first.result)->slot, 2u);
  EXPECT_EQ((**second.result)->slot, 0u);
  EXPECT_FALSE((**third.result).has_value());
  EXPECT_FALSE((**fourth.result).has_value());
}

TEST_F(StreamTest, TheEndWakesEveryReceiver) {
  target_.start();
  Outcome<std::optional<Frame>> first, second;
  receive(first);
  receive(second);
  ASSERT_TRUE(target_.arrive(Frame{}));
  turn();
  ASSERT_TRUE(first.result && second.result);
  EXPECT_FALSE((**first.result).has_value());
  EXPECT_FALSE((**second.result).has_value());
}

TEST_F(StreamTest, AReleasedSlotMayBeUsedAgain) {
  target_.start();
  ASSERT_TRUE(target_.arrive(chunk_frame(1)));
  target_.release(1, AckStatus::done);
  EXPECT_EQ(target_.credits.back(), std::pair(1u, AckStatus::done));
  EXPECT_TRUE(target_.arrive(chunk_frame(1)));
}

TEST_F(StreamTest, TheTargetIsOverWhenTheEndIsInAndAllIsReleased) {
  target_.start();
  ASSERT_TRUE(target_.arrive(chunk_frame(1)));
  ASSERT_TRUE(target_.arrive(Frame{}));
  EXPECT_FALSE(target_.over());
  target_.release(1, AckStatus::done);
  EXPECT_TRUE(target_.over());
}

TEST_F(StreamTest, TheSourceIsOverWhenTheEndIsOutAndAllIsAnswered) {
  make_busy(0);
  Outcome<void> ended;
  ended.task = await_send(source_, Frame{}, {}, ended);
  ended.task.start();
  source_.complete_send(*source_.sends.back());
  turn();
  EXPECT_FALSE(source_.over());
  ASSERT_TRUE(source_.arrive(credit_frame(0, AckStatus::done)));
  EXPECT_TRUE(source_.over());
}

TEST_F(StreamTest, TargetRefusesASlotItDidNotGrant) {
  expect_violation(target_, target_.arrive(chunk_frame(0)));  // not started: nothing is granted
}

TEST_F(StreamTest, TargetRefusesASlotThatDoesNotExist) {
  target_.start();
  expect_violation(target_, target_.arrive(chunk_frame(3)));
}

TEST_F(StreamTest, TargetRefusesASlotThatIsBeingFilled) {
  target_.start();
  ASSERT_TRUE(target_.accept(chunk_frame(1)));
  expect_violation(target_, target_.accept(chunk_frame(1)));
}

TEST_F(StreamTest, TargetRefusesASlotThatIsNotReleased) {
  target_.start();
  ASSERT_TRUE(target_.arrive(chunk_frame(1)));
  expect_violation(target_, target_.arrive(chunk_frame(1)));
}

TEST_F(StreamTest, TargetTakesAFullSlotAndNotAByteMore) {
  target_.start();
  EXPECT_TRUE(target_.arrive(chunk_frame(0, kThreeSlots.slot_bytes)));
  expect_violation(target_, target_.arrive(chunk_frame(1, kThreeSlots.slot_bytes + 1)));
}

TEST_F(StreamTest, TargetRefusesCredits) {
  target_.start();
  expect_violation(target_, target_.arrive(credit_frame(0, AckStatus::done)));
}

TEST_F(StreamTest, TargetRefusesEverythingAfterTheEnd) {
  target_.start();
  ASSERT_TRUE(target_.arrive(Frame{}));
  expect_violation(target_, target_.arrive(chunk_frame(0)));
}

TEST_F(StreamTest, TargetRefusesASecondEnd) {
  target_.start();
  ASSERT_TRUE(target_.arrive(Frame{}));
  expect_violation(target_, target_.arrive(Frame{}));
}

TEST_F(StreamTest, SourceRefusesFramesOfASource) {
  for (const FrameKind kind : {FrameKind::data, FrameKind::abandon, FrameKind::end}) {
    RecordingStream source(*ring_, RecordingStream::Side::source);
    expect_violation(source, source.arrive(chunk_frame(0, 0, kind)));
  }
}

TEST_F(StreamTest, SourceRefusesASlotThatDoesNotExist) {
  expect_violation(source_, source_.arrive(credit_frame(3, AckStatus::granted)));
}

TEST_F(StreamTest, SourceRefusesASecondGrant) {
  ASSERT_TRUE(source_.arrive(credit_frame(0, AckStatus::granted)));
  expect_violation(source_, source_.arrive(credit_frame(0, AckStatus::granted)));
}

// A transport may let its source use the slots before they are granted.
class TakenForGranted : public StreamTest {
 protected:
  TakenForGranted() { source_.take_for_granted(); }
  void grant(std::uint32_t slot) { ASSERT_TRUE(source_.arrive(credit_frame(slot, AckStatus::granted))); }
};

TEST_F(TakenForGranted, SlotsAreFreeAtOnceAndTheirGrantsGiveNoMore) {
  Outcome<std::uint32_t> credits[4];
  for (auto& each : credits) credit(each);
  turn();
  for (std::uint32_t slot = 0; slot < 3; ++slot) EXPECT_EQ(**credits[slot].result, slot);
  EXPECT_FALSE(credits[3].result);
  for (std::uint32_t slot = 0; slot < 3; ++slot) grant(slot);
  turn();
  EXPECT_FALSE(credits[3].result);
}

TEST_F(TakenForGranted, AnAnswerMayComeBeforeTheGrantsOfOtherSlots) {
  Outcome<std::uint32_t> credited;
  credit(credited);
  Outcome<void> sent;
  send(**credited.result, sent);
  source_.complete_send(*source_.sends.back());
  grant(0);
  EXPECT_TRUE(source_.arrive(credit_frame(0, AckStatus::done)));
}

TEST_F(TakenForGranted, IsNotOverBeforeEveryGrantHasCome) {
  Outcome<void> sent;
  sent.task = await_send(source_, Frame{}, {}, sent);
  sent.task.start();
  source_.complete_send(*source_.sends.back());
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    EXPECT_FALSE(source_.over());
    grant(slot);
  }
  EXPECT_TRUE(source_.over());
}

TEST_F(TakenForGranted, RefusesASecondGrant) {
  grant(0);
  expect_violation(source_, source_.arrive(credit_frame(0, AckStatus::granted)));
}

TEST_F(StreamTest, SourceRefusesAGrantOfABusySlot) {
  make_busy(0);
  expect_violation(source_, source_.arrive(credit_frame(0, AckStatus::granted)));
}

TEST_F(StreamTest, SourceRefusesAnAnswerForASlotThatWasNeverGranted) {
  expect_violation(source_, source_.arrive(credit_frame(0, AckStatus::done)));
}

TEST_F(StreamTest, SourceRefusesAnAnswerForAFreeSlot) {
  ASSERT_TRUE(source_.arrive(credit_frame(0, AckStatus::granted)));
  expect_violation(source_, source_.arrive(credit_frame(0, AckStatus::done)));
}

TEST_F(StreamTest, SourceRefusesAnAnswerForACreditedSlot) {
  ASSERT_TRUE(source_.arrive(credit_frame(0, AckStatus::granted)));
  Outcome<std::uint32_t> credited;
  credit(credited);
  expect_violation(source_, source_.arrive(credit_frame(0, AckStatus::done)));
}

TEST_F(StreamTest, SourceRefusesASecondAnswer) {
  make_busy(0);
  ASSERT_TRUE(source_.arrive(credit_frame(0, AckStatus::done)));
  expect_violation(source_, source_.arrive(credit_frame(0, AckStatus::done)));
}

TEST_F(StreamTest, ShutWakesAllThatWaitWithTheFirstCause) {
  make_busy(0);
  Outcome<std::uint32_t> credited;
  credit(credited);
  Outcome<AckStatus> answered;
  answer(0, answered);
  Outcome<std::optional<Frame>> received;
  receive(received);
  const auto why = io::plain_error(io::ErrorKind::connection, "peer", "x", "first cause");
  for (RecordingStream* stream : {&source_, &target_}) {
    stream->shut(why);
    stream->shut(io::plain_error(io::ErrorKind::connection, "peer", "x", "second cause"));
    EXPECT_EQ(stream->closings, 1);
  }
  turn();
  ASSERT_TRUE(credited.result && answered.result && received.result);
  EXPECT_EQ(credited.result->error().detail, "first cause");
  EXPECT_EQ(answered.result->error().detail, "first cause");
  EXPECT_EQ(received.result->error().detail, "first cause");
}

TEST_F(StreamTest, ASendOnItsWayKeepsItsPayloadUntilTheTransportLetsGo) {
  ASSERT_TRUE(source_.arrive(credit_frame(0, AckStatus::granted)));
  Outcome<std::uint32_t> credited;
  credit(credited);
  Outcome<void> sent;
  send(0, sent);
  source_.shut(io::plain_error(io::ErrorKind::connection, "peer", "x", "cut"));
  turn();
  EXPECT_FALSE(sent.result);
  source_.complete_send(*source_.sends.at(0));
  turn();
  ASSERT_TRUE(sent.result);
  EXPECT_EQ(sent.result->error().detail, "cut");
  EXPECT_EQ(source_.counters().frames, 0u);
}

TEST_F(StreamTest, CallsOnAShutStreamGetTheCauseAtOnce) {
  ASSERT_TRUE(source_.arrive(credit_frame(0, AckStatus::granted)));
  target_.start();
  ASSERT_TRUE(target_.arrive(chunk_frame(0)));
  const auto why = io::plain_error(io::ErrorKind::connection, "peer", "x", "cut");
  source_.shut(why);
  target_.shut(why);
  Outcome<std::uint32_t> credited;
  credit(credited);
  Outcome<void> sent;
  send(0, sent);
  Outcome<AckStatus> answered;
  answer(0, answered);
  Outcome<std::optional<Frame>> received;
  receive(received);
  EXPECT_FALSE(*credited.result);
  EXPECT_FALSE(*sent.result);
  EXPECT_FALSE(*answered.result);
  EXPECT_FALSE(*received.result);
  EXPECT_TRUE(source_.sends.empty());
  const std::size_t credits_before = target_.credits.size();
  target_.release(0, AckStatus::done);
  EXPECT_EQ(target_.credits.size(), credits_before);
  EXPECT_FALSE(target_.arrive(chunk_frame(1)));
}

}  // namespace
}  // namespace rdcp::net
