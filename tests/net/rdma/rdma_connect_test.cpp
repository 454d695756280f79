#include "net/rdma/rdma_connect.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <string>

#include "io/ring.h"
#include "tests/net/rdma/rdma_pair.h"
#include "tests/net/rdma/rdma_raw.h"

namespace rdcp::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RdmaConnectTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto port = find_port(WhichPort::ipv4);
    if (!port) GTEST_SKIP() << "no RDMA device";
    ports_.push_back(*port);
  }
  void open() {
    auto listener = RdmaListener::open(ports_);
    ASSERT_TRUE(listener) << listener.error().message();
    listener_.emplace(std::move(*listener));
  }
  // accept_all() on a thread of its own.
  void accept(std::uint16_t stream_count = 1, milliseconds deadline = seconds(20)) {
    job_.streams = stream_count;
    job_.deadline = deadline;
    accepted_ = std::async(std::launch::async,
                           [this, call = job_.call(false)] { return listener_->accept_all(call); });
  }
  io::Result<RailConnections> connect(const std::vector<Rail>& rails) {
    return connect_rails(rails, job_.call(true));
  }
  Rail rail() const { return {ports_[0], ports_[0]}; }
  RawEnd raw() { return *raw_connection(ports_[0], job_.call(true)); }
  void prove(RawEnd& end, std::uint16_t index) {
    const Connector connector(job_.key, index);
    ASSERT_TRUE(end.send(connector.hello()));
    const auto challenge = end.receive();
    ASSERT_TRUE(challenge && challenge->size() == kChallengeBytes);
    const auto proof = connector.answer(std::span(*challenge).first<kChallengeBytes>());
    ASSERT_TRUE(proof && end.send(*proof));
  }
  // Index i at one end is index i at the other: what one sends there, the other gets.
  void expect_paired(RdmaConnections connected, RdmaConnections accepted) {
    ASSERT_EQ(connected.size(), accepted.size());
    for (std::size_t i = 0; i < connected.size(); ++i) {
      EXPECT_EQ(local_address_text(connected[i]->id()), peer_address_text(accepted[i]->id())) << i;
      RawEnd here(std::move(connected[i]));
      RawEnd there(std::move(accepted[i]));
      const std::vector<std::byte> word(5, static_cast<std::byte>(i));
      ASSERT_TRUE(here.send(word));
      EXPECT_EQ(there.receive(), word) << i;
    }
  }
  void expect_connection() {
    auto connected = connect({rail()});
    ASSERT_TRUE(connected) << connected.error().message();
    auto accepted = accepted_.get();
    ASSERT_TRUE(accepted) << accepted.error().message();
    expect_paired(std::move(connected->connections), std::move(*accepted));
  }

  RdmaJob job_;
  std::vector<RdmaPort> ports_;
  std::optional<RdmaListener> listener_;
  std::future<io::Result<RdmaConnections>> accepted_;
};

TEST_F(RdmaConnectTest, EveryIndexArrives) {
  open();
  accept(12);  // more than are dialled at once
  expect_connection();
}

TEST_F(RdmaConnectTest, StreamsAreSpreadOverTheRails) {
  const auto second = find_port(WhichPort::second_device);
  if (!second) GTEST_SKIP() << "no second RDMA device";
  ports_.push_back(*second);
  open();
  accept(4);
  auto connected = connect({rail(), {ports_[1], ports_[1]}});
  ASSERT_TRUE(connected) << connected.error().message();
  auto accepted = accepted_.get();
  ASSERT_TRUE(accepted) << accepted.error().message();
  std::map<std::string, int> streams;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string& device = connected->connections[i]->port().device;
    EXPECT_EQ(accepted->at(i)->port().device, device);
    ++streams[device];
  }
  EXPECT_EQ(streams, (std::map<std::string, int>{{ports_[0].device, 2}, {ports_[1].device, 2}}));
  EXPECT_EQ(connected->rails.working.size(), 2u);
  EXPECT_TRUE(connected->lost_rails.empty());
  expect_paired(std::move(connected->connections), std::move(*accepted));
}

TEST_F(RdmaConnectTest, ARailThatDoesNotAnswerIsLeftOut) {
  open();
  accept(3);
  Rail dead = rail();
  dead.listening.host = "10.77.0.99";  // in the subnet, but nobody's
  job_.patience.no_answer = seconds(1);
  auto connected = connect({dead, rail()});
  ASSERT_TRUE(connected) << connected.error().message();
  ASSERT_EQ(connected->lost_rails.size(), 1u);
  EXPECT_EQ(connected->lost_rails[0].find("rail " + ports_[0].name() + " -> 10.77.0.99: "), 0u)
      << connected->lost_rails[0];
  auto accepted = accepted_.get();
  ASSERT_TRUE(accepted);
  expect_paired(std::move(connected->connections), std::move(*accepted));
}

TEST_F(RdmaConnectTest, WhereNobodyListensItTriesForAWhileAndNamesTheCause) {
  open();
  const Rail dead = rail();
  listener_.reset();
  job_.patience.refused = seconds(1);
  const auto before = io::Clock::now();
  const auto connected = connect({dead});
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().kind, io::ErrorKind::connection);
  EXPECT_NE(connected.error().message().find("nobody listens there"), std::string::npos)
      << connected.error().message();
  EXPECT_GE(io::Clock::now() - before, milliseconds(500));  // it tried more than once
  EXPECT_LT(io::Clock::now() - before, RdmaPatience().refused);
}

TEST_F(RdmaConnectTest, NoRailAtAllIsAnError) {
  EXPECT_FALSE(connect({}));
}

TEST_F(RdmaConnectTest, DescriptorsAreNonBlockingAndClosedOnExec) {
  open();
  accept();
  const auto connected = connect({rail()});
  const auto accepted = accepted_.get();
  ASSERT_TRUE(connected && accepted);
  for (RdmaConnection* end : {connected->connections[0].get(), accepted->at(0).get()}) {
    for (const int fd : {end->channel().fd, end->queue().fd()}) {
      EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
      EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    }
  }
}

TEST_F(RdmaConnectTest, TheListenerIsClosedWhenAllAreThere) {
  open();
  accept();
  expect_connection();
  EXPECT_FALSE(raw_connection(ports_[0], job_.call(true)));
}

TEST_F(RdmaConnectTest, AWrongKeyIsRefusedAndTheWaitGoesOn) {
  open();
  accept();
  RdmaJob wrong;
  const auto refused = connect_rails({rail()}, wrong.call(true));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, io::ErrorKind::connection);
  EXPECT_NE(refused.error().message().find("does not hold this job's key"), std::string::npos)
      << refused.error().message();
  expect_connection();
}

// It says hello properly and then sends a proof that it cannot know. It is told nothing.
TEST_F(RdmaConnectTest, AGuessedProofIsClosedAndTheWaitGoesOn) {
  open();
  accept();
  RawEnd guesser = raw();
  ASSERT_TRUE(guesser.send(Connector(job_.key, 0).hello()));
  const auto challenge = guesser.receive();
  ASSERT_TRUE(challenge && challenge->size() == kChallengeBytes);
  ASSERT_TRUE(guesser.send(std::span(*challenge).last<kMacBytes>()));
  EXPECT_FALSE(guesser.receive());
  expect_connection();
}

TEST_F(RdmaConnectTest, GarbageIsClosedWithoutAnAnswer) {
  open();
  accept();
  for (const std::size_t bytes : {kHelloBytes, std::size_t{1}, kFrameBytes}) {
    RawEnd garbage = raw();
    ASSERT_TRUE(garbage.send(std::vector<std::byte>(bytes, std::byte{'G'})));
    EXPECT_FALSE(garbage.receive()) << bytes;
  }
  RawEnd longer = raw();
  ASSERT_TRUE(longer.send_long(4096));
  EXPECT_FALSE(longer.receive());
  expect_connection();
}

TEST_F(RdmaConnectTest, ManySilentConnectionsBlockNobodyAndTheOldestGivesWay) {
  open();
  accept(3);
  std::vector<RawEnd> silent;
  for (std::size_t i = 0; i < 2 * RdmaListener::kPendingMax; ++i) silent.push_back(raw());
  const auto before = io::Clock::now();
  EXPECT_FALSE(silent.front().receive());
  expect_connection();
  EXPECT_LT(io::Clock::now() - before, kHandshakeTimeout);
}

TEST_F(RdmaConnectTest, ASilentConnectionIsClosedAfterTheHandshakeTimeout) {
  open();
  job_.handshake = milliseconds(500);
  const auto before = io::Clock::now();
  accept();
  RawEnd silent = raw();
  EXPECT_FALSE(silent.receive());
  EXPECT_GE(io::Clock::now() - before, job_.handshake);
  EXPECT_LT(io::Clock::now() - before, kHandshakeTimeout);
  job_.stop = true;
  EXPECT_FALSE(accepted_.get());
}

TEST_F(RdmaConnectTest, TheDeadlineNamesTheLastRefusal) {
  open();
  accept(1, milliseconds(500));
  RawEnd garbage = raw();
  ASSERT_TRUE(garbage.send(std::vector<std::byte>(kHelloBytes, std::byte{'G'})));
  const auto accepted = accepted_.get();
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().kind, io::ErrorKind::connection);
  EXPECT_NE(accepted.error().message().find("did not connect in time"), std::string::npos);
  EXPECT_NE(accepted.error().message().find("does not speak rdcp"), std::string::npos)
      << accepted.error().message();
}

TEST_F(RdmaConnectTest, StopEndsBothWaits) {
  open();
  accept();
  job_.stop = true;
  const auto accepted = accepted_.get();
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().kind, io::ErrorKind::interrupted);
  const auto connected = connect({rail()});
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().kind, io::ErrorKind::interrupted);
}

TEST_F(RdmaConnectTest, ALaterConnectionForAnIndexTakesTheEarliersPlace) {
  open();
  accept(2);
  std::vector<RawEnd> ends;
  for (const std::uint16_t index : {0, 0, 1}) {
    ends.push_back(raw());
    prove(ends.back(), index);
  }
  auto accepted = accepted_.get();
  ASSERT_TRUE(accepted) << accepted.error().message();
  const std::vector<std::byte> word(5, std::byte{'w'});
  RawEnd there(std::move(accepted->at(0)));
  ASSERT_TRUE(ends[1].send(word));
  EXPECT_EQ(there.receive(), word);
}

class RdmaFurtherTest : public RdmaConnectTest {
 protected:
  // A job of two streams whose listener goes on listening.
  void SetUp() override {
    RdmaConnectTest::SetUp();
    if (IsSkipped()) return;
    open();
    job_.streams = 2;
    accepted_ = std::async(std::launch::async,
                           [this, call = job_.call(false)] { return listener_->accept_first(call); });
    expect_connection();
    job_.streams = 100;
  }
  void TearDown() override {
    job_.stop = true;
    if (listener_) listener_->interrupt();
  }
  void accept_further() {
    further_ = std::async(std::launch::async,
                          [this, call = job_.call(false)] { return listener_->accept_further(call); });
  }
  io::Result<RdmaConnectionPtr> further(const std::vector<Rail>& rails, std::uint16_t stream,
                                        milliseconds deadline = seconds(20)) {
    job_.deadline = deadline;
    return net::connect_further({rails, {}}, job_.call(true), stream);
  }
  void expect_further(const std::vector<Rail>& rails, std::uint16_t stream) {
    accept_further();
    auto connected = further(rails, stream);
    ASSERT_TRUE(connected) << connected.error().message();
    auto accepted = further_.get();
    ASSERT_TRUE(accepted) << accepted.error().message();
    EXPECT_EQ(accepted->stream, stream);
    RdmaConnections here;
    RdmaConnections there;
    here.push_back(std::move(*connected));
    there.push_back(std::move(accepted->connection));
    expect_paired(std::move(here), std::move(there));
  }

  std::future<io::Result<RdmaListener::Further>> further_;
};

TEST_F(RdmaFurtherTest, OneAfterAnotherComesUnderItsNumber) {
  for (const std::uint16_t stream : {2, 7, 99}) expect_further({rail()}, stream);
}

TEST_F(RdmaFurtherTest, ItGoesOverARailThatAnswers) {
  Rail dead = rail();
  dead.listening.host = "10.77.0.99";  // in the subnet, but nobody's
  job_.patience.next_rail = milliseconds(100);
  expect_further({dead, rail()}, 4);
  expect_further({rail(), dead}, 5);
  expect_further({dead, dead, dead, dead, dead, rail()}, 6);
}

TEST_F(RdmaFurtherTest, WithoutALivingRailEachIsNamed) {
  Rail dead = rail();
  dead.listening.host = "10.77.0.99";
  Rail unheard = rail();
  unheard.listening.host = "10.77.0.98";
  accept_further();
  const auto before = io::Clock::now();
  job_.patience.next_rail = milliseconds(100);
  const auto connected = further({dead, unheard}, 3, milliseconds(500));
  ASSERT_FALSE(connected);
  EXPECT_LT(io::Clock::now() - before, job_.patience.no_answer);
  EXPECT_NE(connected.error().message().find("10.77.0.99: "), std::string::npos);
  EXPECT_NE(connected.error().message().find("10.77.0.98: "), std::string::npos);
  EXPECT_FALSE(further({}, 3));
}

TEST_F(RdmaFurtherTest, ANumberBeyondTheLimitIsRefused) {
  accept_further();
  EXPECT_FALSE(further({rail()}, 100, milliseconds(500)));
}

TEST_F(RdmaFurtherTest, StrangersAreRefusedAndTheWaitGoesOn) {
  accept_further();
  RawEnd garbage = raw();
  ASSERT_TRUE(garbage.send(std::vector<std::byte>(kHelloBytes, std::byte{'G'})));
  EXPECT_FALSE(garbage.receive());
  const auto connected = further({rail()}, 9);
  EXPECT_TRUE(connected) << connected.error().message();
  EXPECT_TRUE(further_.get());
}

TEST_F(RdmaFurtherTest, AnInterruptEndsTheWait) {
  accept_further();
  job_.stop = true;
  listener_->interrupt();
  const auto accepted = further_.get();
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().kind, io::ErrorKind::interrupted);
  const auto connected = further({rail()}, 9);
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().kind, io::ErrorKind::interrupted);
}

TEST_F(RdmaConnectTest, MoreSlotsThanTheDeviceHasRoomForIsAnError) {
  open();
  accept(1, seconds(1));
  job_.slots = 10'000'000;
  const auto connected = connect({rail()});
  ASSERT_FALSE(connected);
  EXPECT_NE(connected.error().message().find("take fewer slots"), std::string::npos)
      << connected.error().message();
}

TEST_F(RdmaConnectTest, AnAddressWithoutADeviceCannotBeListenedOn) {
  RdmaPort nowhere = ports_[0];
  nowhere.host = "192.0.2.1";
  std::vector<RdmaPort> ports{nowhere, ports_[0]};
  EXPECT_TRUE(RdmaListener::open(ports));
  EXPECT_EQ(ports[0].listen_port, 0);
  EXPECT_NE(ports[1].listen_port, 0);
  ports.pop_back();
  const auto none = RdmaListener::open(ports);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, io::ErrorKind::connection);
}

}  // namespace
}  // namespace rdcp::net
