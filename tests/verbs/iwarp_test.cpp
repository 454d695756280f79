// What is different with iWARP, whose connections are those of TCP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/tcp/tcp_connect.h"
#include "tests/net/rdma/rdma_raw.h"
#include "tests/verbs/fabric.h"
#include "tests/verbs/one_copy.h"

namespace rdcp::made_up {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class Iwarp : public DevicesTest {
 protected:
  void SetUp() override {
    set({with_address(make_device(Model::iwarp, "siw0"), "rail0", "10.77.0.1")});
    ports_ = net::own_rdma_ports().usable;
    ASSERT_EQ(ports_.size(), 1u);
  }
  // One stream from this port to itself, with that listener.
  bool connects(net::RdmaListener& listener) {
    auto accepted = std::async(std::launch::async, [&] { return listener.accept_all(job_.call(false)); });
    const auto connected = net::connect_rails({{ports_[0], ports_[0]}}, job_.call(true));
    EXPECT_TRUE(connected) << connected.error().message();
    return accepted.get().ok() && connected.ok();
  }

  net::RdmaJob job_;
  std::vector<net::RdmaPort> ports_;
};

TEST_F(Iwarp, WhereTcpHasTheNumberItListensOnAnother) {
  const auto tcp = net::TcpListener::open("").value();
  auto listener = net::RdmaListener::open(ports_, tcp.port());
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_NE(ports_[0].listen_port, tcp.port());
  EXPECT_NE(ports_[0].listen_port, 0);
  EXPECT_TRUE(connects(*listener));
}

TEST_F(Iwarp, WithinARangeItListensOnTheFirstNumberThatTcpHasNot) {
  const auto tcp = net::TcpListener::open("").value();
  const auto last = static_cast<std::uint16_t>(tcp.port() + 20);
  const auto listener = net::RdmaListener::open_within(ports_, {tcp.port(), last});
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_GT(ports_[0].listen_port, tcp.port());
  EXPECT_LE(ports_[0].listen_port, last);
}

TEST_F(Iwarp, ARangeIsNotLeft) {
  const auto tcp = net::TcpListener::open("").value();
  const auto listener = net::RdmaListener::open_within(ports_, {tcp.port(), tcp.port()});
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code, EADDRINUSE);
}

TEST_F(Iwarp, OtherKindsHavePortNumbersOfTheirOwn) {
  set({with_address(make_device(Model::connectx7, "mlx5_0"), "rail0", "10.77.0.1")});
  ports_ = net::own_rdma_ports().usable;
  const auto tcp = net::TcpListener::open("").value();
  const auto listener = net::RdmaListener::open(ports_, tcp.port());
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_EQ(ports_[0].listen_port, tcp.port());
}

// Soft-iWARP waits in rdma_connect() until somebody answers, or for minutes.
TEST_F(Iwarp, WhereNobodyAnswersItIsGivenUpInTime) {
  conduct({.connect_blocks = seconds(2)});
  const auto began = io::Clock::now();
  job_.patience.no_answer = milliseconds(300);
  ports_[0].listen_port = 1;
  const auto connected = net::connect_rails({{ports_[0], ports_[0]}}, job_.call(true));
  ASSERT_FALSE(connected);
  EXPECT_THAT(connected.error().message(), HasSubstr("siw0/1 -> 10.77.0.1: does not answer"));
  EXPECT_LT(io::Clock::now() - began, seconds(2));
}

TEST_F(Iwarp, AStopIsHeardAtOnce) {
  conduct({.connect_blocks = seconds(2)});
  const auto began = io::Clock::now();
  ports_[0].listen_port = 1;
  auto connected = std::async(std::launch::async, [this] {
    return net::connect_rails({{ports_[0], ports_[0]}}, job_.call(true)).ok();
  });
  job_.stop = true;
  EXPECT_FALSE(connected.get());
  EXPECT_LT(io::Clock::now() - began, seconds(2));
}

TEST_F(Iwarp, ADeviceThatKnowsNoTrafficClassGoesWithoutOne) {
  conduct({.no_tos = true});
  job_.traffic_class = 104;
  auto listener = net::RdmaListener::open(ports_);
  ASSERT_TRUE(listener);
  EXPECT_TRUE(connects(*listener));
}

// Requests of a device complete although nobody is there; only the peer's own words show that it is.
class IwarpSilence : public Iwarp {
 protected:
  static constexpr milliseconds kMoment{50};
  // Lets a moment go by, so that what comes after it is later.
  void pass() {
    const auto until = io::Clock::now() + kMoment;
    EXPECT_TRUE(copy_->until([&] { return io::Clock::now() >= until; }));
  }
  void start() {
    copy_.emplace(ports_[0]);
    copy_->source().ends = false;
    copy_->start(3);
    EXPECT_TRUE(copy_->until([&] { return copy_->chunks_received() == 3; }));
    started_ = io::Clock::now();
  }
  // A moment after this, what was heard before started_ is too long ago.
  io::Clock::time_point end_of_patience() const { return started_ + net::kUnreachableMax + kMoment / 2; }

  std::optional<OneCopy> copy_;
  io::Clock::time_point started_;
};

TEST_F(IwarpSilence, APeerOfWhomNothingIsHeardIsGivenUp) {
  start();
  pass();
  copy_->target_stream().check_connection(end_of_patience());
  EXPECT_THAT(copy_->error(), HasSubstr("does not answer any more"));
}

TEST_F(IwarpSilence, APeerThatOnlyBeatsIsThere) {
  start();
  pass();
  const auto sent = fabric().counts().sends;
  copy_->source_stream().check_connection(io::Clock::now() + seconds(6));
  EXPECT_EQ(fabric().counts().sends, sent + 1);
  pass();
  copy_->target_stream().check_connection(end_of_patience());
  EXPECT_EQ(copy_->error(), "");
}

// Its worker may start later; it is not to find more messages than it has room for.
TEST_F(IwarpSilence, APeerThatHasNotBegunHasLonger) {
  copy_.emplace(ports_[0]);
  net::Stream& target = copy_->target_stream();
  const auto sent = fabric().counts().sends;
  target.start();
  const auto began = io::Clock::now();
  for (int second = 0; second < 100; second += 10) {
    target.check_connection(began + seconds(second));
    pass();
  }
  EXPECT_EQ(copy_->error(), "");
  EXPECT_EQ(fabric().counts().sends, sent + 1 + OneCopy::kSlots + net::kBeatsMax);
  target.check_connection(began + 4 * net::kUnreachableMax + seconds(1));
  EXPECT_THAT(copy_->error(), HasSubstr("does not answer any more"));
}

TEST_F(IwarpSilence, ItBeatsNoMoreOftenThanItMust) {
  start();
  const auto sent = fabric().counts().sends;
  for (int second = 0; second < 20; second += 2) {
    copy_->source_stream().check_connection(io::Clock::now() + seconds(second));
    pass();
  }
  EXPECT_EQ(fabric().counts().sends, sent + 4);
}

TEST_F(Iwarp, APeerThatKnowsNoBeatsIsSentNone) {
  job_.slots = OneCopy::kSlots;
  auto listener = net::RdmaListener::open(ports_);
  ASSERT_TRUE(listener);
  auto accepted = std::async(std::launch::async, [&] { return listener->accept_all(job_.call(false)); });
  auto peer = net::raw_connection(ports_[0], job_.call(true), net::SaidByCm::nothing);
  ASSERT_TRUE(peer);
  const net::Connector connector(job_.key, 0);
  ASSERT_TRUE(peer->send(connector.hello()));
  const auto challenge = peer->receive();
  ASSERT_TRUE(challenge && challenge->size() == net::kChallengeBytes);
  ASSERT_TRUE(peer->send(*connector.answer(std::span(*challenge).first<net::kChallengeBytes>())));
  auto connections = accepted.get();
  ASSERT_TRUE(connections);
  EXPECT_FALSE(connections->at(0)->beats());
}

// The device takes nothing any more once the peer has gone, but what the peer has said before is still to be
// read.
TEST_F(Iwarp, WhatIsRefusedBecauseThePeerHasGoneSaysThatItHasGone) {
  constexpr net::StreamShape kShape{.target_slots = 1, .slot_bytes = 8192};
  const auto ring = net::test_ring();
  io::Arena arena = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
  net::RdmaPair pair = net::make_rdma_pair(ports_[0], job_);
  std::optional<net::RawEnd> peer(std::move(pair.target.at(0)));
  const auto stream = net::make_rdma_source(*ring, std::move(pair.source.at(0)), kShape, arena);
  net::SourceSide source{*stream, {100}};
  source.arena = &arena;
  const net::SlotRegion region{reinterpret_cast<std::uint64_t>(peer->memory().data()), kShape.slot_bytes,
                               kShape.target_slots, peer->rkey()};
  ASSERT_TRUE(peer->send(net::encode(region)));
  ASSERT_TRUE(peer->send(encode(net::credit_frame(0, net::AckStatus::granted))));
  peer.reset();
  stream->start();
  source.start(1);
  ASSERT_TRUE(net::run_until(*ring, [&] { return source.finished(); }));
  ASSERT_TRUE(source.error);
  EXPECT_THAT(source.error->message(), HasSubstr("closed the connection before the end"));
}

TEST_F(Iwarp, ARequestThatFailsBecauseThePeerHasClosedSaysSo) {
  OneCopy copy(ports_[0]);
  conduct({.faults = {{.at_request = 60, .status = IBV_WC_LOC_QP_OP_ERR}}});
  copy.start(100);
  EXPECT_TRUE(copy.until([&] { return copy.source().finished() && copy.target().finished(); }));
  EXPECT_THAT(copy.error(), HasSubstr("closed the connection before the end"));
  EXPECT_THAT(copy.error(), Not(HasSubstr("could not send")));
}

// Soft-iWARP sends what is not signalled out of the memory itself, and says that it is done before TCP has
// sent it.
TEST_F(Iwarp, TheMemoryOfAPayloadIsFreeWhenItsOwnCompletionSaysSo) {
  OneCopy copy(ports_[0]);
  copy.run(5);
  EXPECT_EQ(fabric().counts().signalled_writes, 5u);
  EXPECT_EQ(copy.error(), "");
}

}  // namespace
}  // namespace rdcp::made_up
