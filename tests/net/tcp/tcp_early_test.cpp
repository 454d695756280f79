// Connections that are proven early: who says so at once, who takes it, and what a stream makes of a
// stranger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>

#include "net/sockets/sockets.h"
#include "net/tcp/knock.h"
#include "net/tcp/tcp.h"
#include "tests/net/sockets/raw_receive.h"
#include "tests/net/stream/connected_stream.h"
#include "tests/net/tcp/tcp_pair.h"

namespace rdcp::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class TcpEarlyTest : public testing::Test {
 protected:
  TcpCall call(Sealing sealing, bool told, milliseconds deadline = seconds(20)) {
    HandshakeTerms terms(key_, sealing);
    if (told) terms.early = early_;
    return {.terms = terms, .deadline = deadline, .stop = stop_};
  }
  // Returns what a knock has opened.
  std::vector<OpenConnection> opened(std::size_t connections) {
    const std::array at{here()};
    KnockOutcome outcome = knock(at, {.time = seconds(20), .to_first = connections}, 0, stop_);
    EXPECT_EQ(outcome.open.size(), connections) << outcome.none_because;
    return std::move(outcome.open);
  }
  Address here() const { return {"127.0.0.1", listener_.port()}; }
  std::future<io::Result<Sockets>> accept(const TcpCall& with, std::uint16_t streams) {
    return std::async(std::launch::async, [=, this] { return listener_.accept_first(with, streams); });
  }
  // Sends these bytes over a connection of their own. Returns the welcome, or nothing if it is closed
  // instead.
  std::optional<Mac> welcome_for(std::span<const std::byte> message) {
    const io::Fd socket = connect_to(here()).value();
    make_blocking(socket);
    EXPECT_TRUE(send_all(socket, message));
    Mac welcome{};
    return receive_all(socket, welcome) ? std::optional(welcome) : std::nullopt;
  }

  TcpListener listener_ = TcpListener::open("127.0.0.1").value();
  const SessionKey key_ = make_session_key().value();
  const EarlyTerms early_{.nonce = make_nonce().value(), .cipher = Cipher::aes_256_gcm};
  std::atomic<bool> stop_ = false;
};

// Nobody accepts before all of it is said.
TEST_F(TcpEarlyTest, WhatAKnockHasOpenedIsProvenWithoutWaiting) {
  constexpr std::uint16_t kStreams = 3;
  const auto connected = connect_all({here()}, call(Sealing::always, true), kStreams, opened(kStreams));
  ASSERT_TRUE(connected) << connected.error().message();
  const std::string data = "and what follows is the stream's";
  for (const ProvenSocket& socket : *connected)
    ASSERT_TRUE(send_whole(socket.get(), std::as_bytes(std::span(data))));
  const auto accepted = listener_.accept_first(call(Sealing::always, true), kStreams);
  ASSERT_TRUE(accepted) << accepted.error().message();
  for (std::size_t i = 0; i < kStreams; ++i) {
    const ProvenSocket& here = (*connected)[i];
    const ProvenSocket& there = (*accepted)[i];
    ASSERT_TRUE(here.welcome && here.seal && there.seal);
    EXPECT_FALSE(there.welcome);
    EXPECT_TRUE(std::ranges::equal(here.seal->sending, there.seal->receiving));
    make_blocking(here.fd);
    make_blocking(there.fd);
    Mac welcome{};
    EXPECT_TRUE(receive_all(here.fd, welcome));
    EXPECT_EQ(welcome, *here.welcome);
    std::string arrived(data.size(), ' ');
    EXPECT_TRUE(receive_all(there.fd, std::as_writable_bytes(std::span(arrived))));
    EXPECT_EQ(arrived, data);
  }
}

TEST_F(TcpEarlyTest, ElsewhereTheChallengeIsAwaited) {
  struct Case {
    const char* what;
    Sealing sealing;
    bool told, knocked;
  };
  for (const Case& one : {Case{"nothing was opened", Sealing::always, true, false},
                          Case{"nobody was told", Sealing::always, false, true},
                          Case{"it stays on this host", Sealing::rather, true, true},
                          Case{"nothing is sealed", Sealing::never, true, true}}) {
    SCOPED_TRACE(one.what);
    auto accepting = accept(call(one.sealing, true), 2);
    const auto connected = connect_all({here()}, call(one.sealing, one.told), 2,
                                       one.knocked ? opened(2) : std::vector<OpenConnection>());
    ASSERT_TRUE(connected) << connected.error().message();
    for (const ProvenSocket& socket : *connected) EXPECT_FALSE(socket.welcome);
    EXPECT_TRUE(accepting.get());
  }
}

TEST_F(TcpEarlyTest, WhoWasNotToldTakesNone) {
  auto accepting = accept(call(Sealing::always, false, seconds(2)), 1);
  EXPECT_FALSE(welcome_for(say_early(key_, early_, 0)->message));
  const auto accepted = accepting.get();
  ASSERT_FALSE(accepted);
  EXPECT_NE(accepted.error().message().find("does not speak rdcp"), std::string::npos);
}

// Whoever has seen a hello go by sends it again.
TEST_F(TcpEarlyTest, OneIsTakenOnce) {
  auto accepting = accept(call(Sealing::always, true), 2);
  const EarlyHello hello = say_early(key_, early_, 0).value();
  EXPECT_EQ(welcome_for(hello.message), hello.welcome);
  EXPECT_FALSE(welcome_for(hello.message));
  EXPECT_FALSE(welcome_for(say_early(key_, early_, 0)->message)) << "another one for the same stream";
  EXPECT_TRUE(welcome_for(say_early(key_, early_, 1)->message));
  EXPECT_TRUE(accepting.get());
}

TEST_F(TcpEarlyTest, LostOnesAreNotWaitedFor) {
  const auto lost = [](std::uint16_t stream) { return stream == 1; };
  const auto first = opened(1);
  ASSERT_TRUE(send_whole(first[0].socket.get(), say_early(key_, early_, 0)->message));
  const auto accepted = listener_.accept_first(call(Sealing::always, true), 2, lost);
  ASSERT_TRUE(accepted) << accepted.error().message();
  EXPECT_TRUE((*accepted)[0]);
  EXPECT_FALSE((*accepted)[1]);
  EXPECT_TRUE(listener_.accept_first(call(Sealing::always, true), 2, [](std::uint16_t) { return true; }));
}

constexpr Mac kWelcome{std::byte{1}, std::byte{2}, std::byte{3}};

// One end awaits a welcome, which the other one has sent.
template <bool source_waits>
std::optional<ConnectedEnds> connect_early(const StreamShape& shape) {
  const auto pair = std::make_shared<TcpPair>();
  EXPECT_TRUE(send_whole((source_waits ? pair->target : pair->source).get(), kWelcome));
  const auto awaited = [](bool waits) { return waits ? std::optional(kWelcome) : std::nullopt; };
  return ConnectedEnds{
      [=](io::Ring& ring, io::Arena&) {
        return make_tcp_source(ring, {std::move(pair->source), awaited(source_waits)}, shape);
      },
      [=](io::Ring& ring, io::Arena& arena) {
        return make_tcp_target(ring, {std::move(pair->target), awaited(!source_waits)}, shape, arena);
      }};
}

const ConnectedVariant kEarlyVariants[] = {
    {.name = "TcpEarlySource", .ring = io::RingChoice::io_uring, .connect = connect_early<true>},
    {.name = "TcpEarlyTarget", .ring = io::RingChoice::thread_pool, .connect = connect_early<false>},
};
INSTANTIATE_TEST_SUITE_P(EarlyStreams, ConnectedStreamTest, testing::ValuesIn(kEarlyVariants),
                         [](const auto& tested) { return tested.param.name; });

// A stream whose other end is a stranger.
class StrangerTest : public testing::TestWithParam<bool> {
 protected:
  static constexpr StreamShape kShape{.target_slots = 1, .slot_bytes = 4096};
  void SetUp() override {
    TcpConnection ours{std::move(pair_.source), kWelcome};
    stream_ = GetParam() ? make_tcp_source(*ring_, std::move(ours), kShape)
                         : make_tcp_target(*ring_, std::move(ours), kShape, arena_);
    stream_->start();
  }
  // Waits until the stream is lost, and returns why.
  std::string why_lost() {
    EXPECT_TRUE(run_until(*ring_, [this] { return stream_->why_shut().has_value(); }));
    EXPECT_EQ(stream_->why_shut()->kind, io::ErrorKind::connection) << "so the run goes on";
    const std::string why = stream_->why_shut()->message();
    EXPECT_TRUE(run_until(*ring_, [this] { return stream_->idle(); }));
    return why;
  }

  TcpPair pair_;
  std::unique_ptr<io::Ring> ring_ = test_ring();
  io::Arena arena_ = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
  std::unique_ptr<Stream> stream_;
};
INSTANTIATE_TEST_SUITE_P(Sides, StrangerTest, testing::Bool(),
                         [](const auto& tested) { return std::string(tested.param ? "Source" : "Target"); });

TEST_P(StrangerTest, WhoSaysSomethingElse) {
  const std::string words = "SSH-2.0-Somebody_else, who has a lot to say\r\n";
  ASSERT_TRUE(send_whole(pair_.target.get(), std::as_bytes(std::span(words))));
  EXPECT_NE(why_lost().find("does not hold this job's key"), std::string::npos);
}

TEST_P(StrangerTest, WhoCloses) {
  pair_.target.reset();
  EXPECT_THAT(why_lost(), testing::AnyOf(testing::HasSubstr("closed the connection"),
                                         testing::HasSubstr("Connection reset by peer"),
                                         testing::HasSubstr("Broken pipe")));
}

TEST_P(StrangerTest, WhoIsSilent) {
  const auto now = io::Clock::now();
  stream_->check_connection(now + kHandshakeTimeout - seconds(1));
  EXPECT_FALSE(stream_->why_shut());
  stream_->check_connection(now + kHandshakeTimeout + seconds(1));
  EXPECT_NE(why_lost().find("does not speak rdcp"), std::string::npos);
}

}  // namespace
}  // namespace rdcp::net
