#include "net/tcp/tcp_connect.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <future>
#include <thread>

#include "io/ring.h"
#include "net/sockets/sockets.h"
#include "tests/net/sockets/raw_receive.h"
#include "tests/net/tcp/tcp_pair.h"

namespace rdcp::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kDeadline{20};

// Connects and says nothing, or what it is told to.
io::Fd raw_connection(const Address& address) {
  const auto to = to_socket_address(address);
  io::Fd socket(::socket(to->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), to->get(), to->length) != 0) return {};
  const timeval limit{20, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  return socket;
}

class TcpConnectTest : public testing::Test {
 protected:
  void open(const std::string& bind_address) {
    auto listener = TcpListener::open(bind_address);
    ASSERT_TRUE(listener) << listener.error().message();
    port_ = listener->port();
    listener_.emplace(std::move(*listener));
  }
  // accept_all() on a thread of its own.
  void accept(std::uint16_t stream_count, std::chrono::milliseconds deadline = kDeadline) {
    accepted_ = std::async(std::launch::async, [this, stream_count, deadline] {
      HandshakeTerms terms(key_);
      terms.time_limit = handshake_;
      return listener_->accept_all(terms, stream_count, deadline, stop_, {});
    });
  }
  io::Result<Sockets> connect(const std::vector<Address>& addresses, std::uint16_t stream_count) {
    return connect_all(addresses, {key_, kDeadline, stop_}, stream_count);
  }
  // Index i at one end is index i at the other.
  void expect_paired(Sockets& connected, Sockets& accepted) {
    ASSERT_EQ(connected.size(), accepted.size());
    for (std::size_t i = 0; i < connected.size(); ++i) {
      EXPECT_EQ(local_address(connected[i].get()), peer_address(accepted[i].get())) << i;
      EXPECT_EQ(peer_address(connected[i].get()), local_address(accepted[i].get())) << i;
    }
  }
  void expect_connection(const std::vector<Address>& addresses, std::uint16_t stream_count) {
    accept(stream_count);
    auto connected = connect(addresses, stream_count);
    ASSERT_TRUE(connected) << connected.error().message();
    auto accepted = accepted_.get();
    ASSERT_TRUE(accepted) << accepted.error().message();
    expect_paired(*connected, *accepted);
  }
  Address here() const { return here(port_); }
  static Address here(std::uint16_t port) { return {"127.0.0.1", port}; }

  SessionKey key_ = make_session_key().value();
  std::chrono::milliseconds handshake_ = kHandshakeTimeout;
  std::optional<TcpListener> listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_ = false;
  std::future<io::Result<Sockets>> accepted_;
};

TEST_F(TcpConnectTest, EveryIndexArrives) {
  open("127.0.0.1");
  expect_connection({here()}, 40);  // more than are dialled at once
}

TEST_F(TcpConnectTest, OneListenerTakesBothFamilies) {
  for (const char* host : {"127.0.0.1", "::1"}) {
    open("");
    if (raw_connection({host, port_}).get() < 0) GTEST_SKIP() << "no " << host << " here";
    expect_connection({{host, port_}}, 2);
  }
}

TEST_F(TcpConnectTest, SocketsAreSetUpForStreams) {
  open("127.0.0.1");
  accept(1);
  const auto connected = connect({here()}, 1);
  const auto accepted = accepted_.get();
  ASSERT_TRUE(connected && accepted);
  for (const int fd : {connected->at(0).get(), accepted->at(0).get()}) {
    const auto option = [fd](int level, int name) {
      int value = 0;
      socklen_t bytes = sizeof(value);
      EXPECT_EQ(::getsockopt(fd, level, name, &value, &bytes), 0);
      return value;
    };
    EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 0) << "it would end a peer that is only slow";
    EXPECT_LT(option(IPPROTO_TCP, TCP_KEEPIDLE) +
                  option(IPPROTO_TCP, TCP_KEEPCNT) * option(IPPROTO_TCP, TCP_KEEPINTVL),
              25);
  }
}

TEST_F(TcpConnectTest, TheListenerIsClosedWhenAllAreThere) {
  open("127.0.0.1");
  expect_connection({here()}, 1);
  EXPECT_LT(raw_connection(here()).get(), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST_F(TcpConnectTest, AWrongKeyIsRefusedAndTheWaitGoesOn) {
  open("127.0.0.1");
  accept(1);
  SessionKey wrong = key_;
  wrong[31] ^= std::byte{1};
  const auto refused = connect_all({here()}, {wrong, kDeadline, stop_}, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, io::ErrorKind::connection);
  EXPECT_NE(refused.error().message().find("does not hold this job's key"), std::string::npos);
  EXPECT_TRUE(connect({here()}, 1));
  EXPECT_TRUE(accepted_.get());
}

// It says hello properly and then sends a proof that it cannot know.
TEST_F(TcpConnectTest, AGuessedProofIsClosedAndTheWaitGoesOn) {
  open("127.0.0.1");
  accept(1);
  const io::Fd guesser = raw_connection(here());
  ASSERT_TRUE(send_whole(guesser.get(), Connector(key_, 0).hello()));
  std::array<std::byte, kChallengeBytes> challenge;
  ASSERT_TRUE(receive_all(guesser, challenge));
  ASSERT_TRUE(send_whole(guesser.get(), std::span(challenge).last<kMacBytes>()));
  EXPECT_TRUE(is_closed(guesser));
  EXPECT_TRUE(connect({here()}, 1));
  EXPECT_TRUE(accepted_.get());
}

TEST_F(TcpConnectTest, GarbageIsClosedWithoutAnAnswer) {
  open("127.0.0.1");
  accept(1);
  const io::Fd garbage = raw_connection(here());
  const std::vector<std::byte> bytes(kHelloBytes, std::byte{'G'});
  ASSERT_TRUE(send_whole(garbage.get(), bytes));
  EXPECT_TRUE(is_closed(garbage));
  EXPECT_TRUE(connect({here()}, 1));
  EXPECT_TRUE(accepted_.get());
}

TEST_F(TcpConnectTest, AConnectorOfAnotherVersionIsToldOurs) {
  open("127.0.0.1");
  accept(1);
  const io::Fd other = raw_connection(here());
  auto hello = Connector(key_, 0).hello();
  hello[4] ^= std::byte{0x40};
  ASSERT_TRUE(send_whole(other.get(), hello));
  std::array<std::byte, kRefusalBytes> answer;
  ASSERT_TRUE(receive_all(other, answer));
  EXPECT_EQ(answer, version_refusal());
  EXPECT_TRUE(is_closed(other));
  EXPECT_TRUE(connect({here()}, 1));
  EXPECT_TRUE(accepted_.get());
}

TEST_F(TcpConnectTest, AListenerOfAnotherVersionIsNamed) {
  const io::Fd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(listening.get(), 1), 0);
  auto answered = std::async(std::launch::async, [&] {
    const io::Fd caller(::accept(listening.get(), nullptr, nullptr));
    std::array<std::byte, kHelloBytes> hello;
    auto refusal = version_refusal();
    refusal[4] = std::byte{99};
    return receive_all(caller, hello) && send_whole(caller.get(), refusal);
  });
  const auto refused = connect({{"127.0.0.1", local_address(listening.get()).port}}, 1);
  EXPECT_TRUE(answered.get());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EPROTONOSUPPORT);
  EXPECT_NE(refused.error().detail.find("speaks stream protocol 99, this side speaks " +
                                        std::to_string(kStreamVersion)),
            std::string::npos);
}

// A listener that challenges nobody before all have said hello.
TEST_F(TcpConnectTest, AllStreamsSayHelloBeforeTheFirstIsChallenged) {
  static constexpr std::uint16_t kStreams = 4;
  const io::Fd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(listening.get(), kStreams), 0);
  auto proven = std::async(std::launch::async, [&] {
    struct Caller {
      io::Fd socket;
      Listener listener;
      std::array<std::byte, kHelloBytes> hello = {};
    };
    std::vector<Caller> callers;
    for (std::uint16_t i = 0; i < kStreams; ++i) {
      callers.push_back({io::Fd(::accept(listening.get(), nullptr, nullptr)), Listener(key_)});
      make_blocking(callers.back().socket);
      if (!receive_all(callers.back().socket, callers.back().hello)) return false;
    }
    return std::ranges::all_of(callers, [](Caller& caller) {
      const auto challenge = caller.listener.challenge(caller.hello, kStreams);
      std::array<std::byte, kProofBytes> proof;
      return challenge && send_all(caller.socket, *challenge) && receive_all(caller.socket, proof) &&
             caller.listener.check(proof);
    });
  });
  const auto connected = connect({here(local_address(listening.get()).port)}, kStreams);
  EXPECT_TRUE(connected) << connected.error().message();
  EXPECT_TRUE(proven.get());
}

TEST_F(TcpConnectTest, ConnectionsThatAreOpenAreUsed) {
  open("127.0.0.1");
  KnockOutcome knocked = knock(std::vector<Address>{here()}, {kDeadline, 3}, 0, stop_);
  std::vector<Address> opened;
  for (const OpenConnection& each : knocked.open) opened.push_back(local_address(each.socket.get()));
  accept(4);
  const auto connected = connect_all({here()}, {key_, kDeadline, stop_}, 4, std::move(knocked.open));
  ASSERT_TRUE(connected) << connected.error().message();
  ASSERT_TRUE(accepted_.get());
  for (const Address& from : opened) {
    EXPECT_TRUE(std::ranges::any_of(
        *connected, [&](const ProvenSocket& socket) { return local_address(socket.get()) == from; }));
  }
}

// Whoever had them open may have given them up meanwhile.
TEST_F(TcpConnectTest, OpenConnectionsThatFailAreMadeAnew) {
  open("127.0.0.1");
  KnockOutcome knocked = knock(std::vector<Address>{here()}, {kDeadline, 3}, 0, stop_);
  for (std::size_t i = 0; i < knocked.open.size(); ++i) {
    reset_on_close(listener_->accept());
  }
  accept(3);
  const auto connected = connect_all({here()}, {key_, kDeadline, stop_}, 3, std::move(knocked.open));
  EXPECT_TRUE(connected) << connected.error().message();
  EXPECT_TRUE(accepted_.get());
}

TEST_F(TcpConnectTest, ATrickledHandshakeIsTakenWhenItIsWhole) {
  open("127.0.0.1");
  accept(1);
  const io::Fd slow = raw_connection(here());
  const Connector connector(key_, 0);
  for (const std::byte b : connector.hello()) ASSERT_TRUE(send_whole(slow.get(), std::span(&b, 1)));
  std::array<std::byte, kChallengeBytes> challenge;
  ASSERT_TRUE(receive_all(slow, challenge));
  const auto proof = connector.answer(challenge);
  ASSERT_TRUE(proof);
  for (const std::byte b : *proof) ASSERT_TRUE(send_whole(slow.get(), std::span(&b, 1)));
  EXPECT_TRUE(accepted_.get());
}

TEST_F(TcpConnectTest, AHundredSilentConnectionsBlockNobody) {
  open("127.0.0.1");
  accept(3);
  std::vector<io::Fd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(raw_connection(here()));
  const auto before = io::Clock::now();
  auto connected = connect({here()}, 3);
  ASSERT_TRUE(connected) << connected.error().message();
  auto accepted = accepted_.get();
  ASSERT_TRUE(accepted);
  EXPECT_LT(io::Clock::now() - before, kHandshakeTimeout);
  expect_paired(*connected, *accepted);
}

// A host with many interfaces is knocked at by many connections at once, all but the first of which are
// closed.
TEST_F(TcpConnectTest, ConnectionsThatWereClosedPushOutNobody) {
  open("127.0.0.1");
  const io::Fd alive = raw_connection(here());
  const Connector connector(key_, 0);
  ASSERT_TRUE(send_whole(alive.get(), connector.hello()));
  for (std::size_t i = 0; i < 3 * TcpListener::kPendingMax; ++i) raw_connection(here()).reset();
  accept(1);
  std::array<std::byte, kChallengeBytes> challenge;
  ASSERT_TRUE(receive_all(alive, challenge));
  const auto proof = connector.answer(challenge);
  ASSERT_TRUE(proof);
  ASSERT_TRUE(send_whole(alive.get(), *proof));
  EXPECT_TRUE(accepted_.get());
}

// The oldest gives way, so a crowd of silent connections never grows past its limit.
TEST_F(TcpConnectTest, TheOldestUnprovenConnectionGivesWayToANewOne) {
  open("127.0.0.1");
  accept(1);
  const io::Fd oldest = raw_connection(here());
  std::vector<io::Fd> silent;
  for (std::size_t i = 0; i < TcpListener::kPendingMax; ++i) silent.push_back(raw_connection(here()));
  EXPECT_TRUE(is_closed(oldest));
  std::byte more;
  EXPECT_EQ(::recv(silent.back().get(), &more, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN) << "the newest must be open still";
  EXPECT_TRUE(connect({here()}, 1));
  EXPECT_TRUE(accepted_.get());
}

TEST_F(TcpConnectTest, ASilentConnectionIsClosedAfterTheHandshakeTimeout) {
  open("127.0.0.1");
  handshake_ = std::chrono::milliseconds(300);
  const auto before = io::Clock::now();
  accept(1);
  const io::Fd silent = raw_connection(here());
  const auto hello = Connector(key_, 0).hello();
  ASSERT_TRUE(send_whole(silent.get(), std::span(hello).first<5>()));
  EXPECT_TRUE(is_closed(silent));
  EXPECT_GE(io::Clock::now() - before, handshake_);
  EXPECT_LT(io::Clock::now() - before, kHandshakeTimeout);
  stop_ = true;
  EXPECT_FALSE(accepted_.get());
}

TEST_F(TcpConnectTest, TheDeadlineNamesTheLastRefusal) {
  open("127.0.0.1");
  accept(1, std::chrono::milliseconds(200));
  const io::Fd garbage = raw_connection(here());
  const std::vector<std::byte> bytes(kHelloBytes, std::byte{'G'});
  ASSERT_TRUE(send_whole(garbage.get(), bytes));
  const auto accepted = accepted_.get();
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().kind, io::ErrorKind::connection);
  EXPECT_NE(accepted.error().message().find("did not connect in time"), std::string::npos);
  EXPECT_NE(accepted.error().message().find("does not speak rdcp"), std::string::npos);
}

TEST_F(TcpConnectTest, StopEndsBothWaits) {
  open("127.0.0.1");
  accept(1);
  stop_ = true;
  const auto accepted = accepted_.get();
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().kind, io::ErrorKind::interrupted);
  const auto connected = connect({here()}, 1);
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().kind, io::ErrorKind::interrupted);
}

TEST_F(TcpConnectTest, AnAddressThatRefusesIsPassedOver) {
  open("127.0.0.1");
  std::uint16_t dead_port = 0;
  {
    const auto gone = TcpListener::open("127.0.0.1");
    ASSERT_TRUE(gone);
    dead_port = gone->port();
  }
  expect_connection({{"127.0.0.1", dead_port}, here()}, 2);
}

TEST_F(TcpConnectTest, AnAddressThatStaysSilentIsPassedOver) {
  auto silent = TcpListener::open("127.0.0.1");  // the kernel connects, nobody accepts
  ASSERT_TRUE(silent);
  open("127.0.0.1");
  const auto before = io::Clock::now();
  expect_connection({{"127.0.0.1", silent->port()}, here()}, 2);
  EXPECT_GE(io::Clock::now() - before, std::chrono::milliseconds(500));
  EXPECT_LT(io::Clock::now() - before, seconds(5));
}

TEST_F(TcpConnectTest, EveryAddressThatFailedIsNamed) {
  std::vector<Address> dead;
  for (int i = 0; i < 2; ++i) {
    const auto gone = TcpListener::open("127.0.0.1");
    ASSERT_TRUE(gone);
    dead.push_back({"127.0.0.1", gone->port()});
  }
  dead.push_back({"no-number", 1});
  const auto connected = connect(dead, 1);
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().kind, io::ErrorKind::connection);
  const std::string message = connected.error().message();
  EXPECT_NE(message.find(dead[0].text() + ": Connection refused"), std::string::npos) << message;
  EXPECT_NE(message.find(dead[1].text() + ": Connection refused"), std::string::npos) << message;
  EXPECT_NE(message.find("no-number:1: "), std::string::npos) << message;
}

TEST_F(TcpConnectTest, NoAddressAtAllIsAnError) {
  EXPECT_FALSE(connect({}, 1));
}

TEST_F(TcpConnectTest, ALaterConnectionForAnIndexTakesTheEarliersPlace) {
  open("127.0.0.1");
  accept(2);
  const auto given_up = connect({here()}, 1);
  ASSERT_TRUE(given_up);
  auto connected = connect({here()}, 2);
  ASSERT_TRUE(connected);
  auto accepted = accepted_.get();
  ASSERT_TRUE(accepted);
  expect_paired(*connected, *accepted);
}

TEST_F(TcpConnectTest, TheFirstFreePortOfARangeIsTaken) {
  open("127.0.0.1");
  const auto next = static_cast<std::uint16_t>(port_ == 65535 ? port_ : port_ + 1);
  EXPECT_FALSE(TcpListener::open_within("127.0.0.1", {port_, port_}));
  const auto other = TcpListener::open_within("127.0.0.1", {port_, next});
  EXPECT_EQ(other ? int{other->port()} : other.error().code, other ? next : EADDRINUSE)
      << "somebody else may have the next one";
  EXPECT_TRUE(TcpListener::open_within("127.0.0.1", {0, 0}));
}

// What somebody else carries from one listener to another: here a thread that joins a connection to each. One
// stream's comes to the sockets beside the ports.
TEST_F(TcpConnectTest, ConnectionsThatSomebodyCarriesAreProvenAsAnyOther) {
  open("127.0.0.1");
  auto near = TcpListener::open("127.0.0.1");
  ASSERT_TRUE(near);
  near->open_beside();
  listener_->open_beside();
  accept(2);
  // Strangers come first, as many as would be enough, and hang up.
  const std::array strangers{raw_connection(here(near->port())), raw_connection(here(near->port()))};
  for (const io::Fd& stranger : strangers) ASSERT_EQ(::shutdown(stranger.get(), SHUT_RDWR), 0);
  std::vector<std::thread> carriers;
  for (const bool beside : {false, true}) {
    carriers.emplace_back([&, beside] {
      const io::Fd one = beside ? connect_beside(near->port()).value() : raw_connection(here(near->port()));
      const io::Fd other = beside ? connect_beside(port_).value() : raw_connection(here());
      const auto pass = [](const io::Fd& from, const io::Fd& to, std::size_t bytes) {
        std::vector<std::byte> message(bytes);
        if (receive_all(from, message)) (void)send_all(to, message);
      };
      pass(one, other, kHelloBytes);
      pass(other, one, kChallengeBytes);
      pass(one, other, kProofBytes);
    });
  }
  auto connected = connect_through(*near, {key_, kDeadline, stop_}, 2, milliseconds(0));
  for (std::thread& carrier : carriers) carrier.join();
  ASSERT_TRUE(connected) << connected.error().message();
  auto accepted = accepted_.get();
  ASSERT_TRUE(accepted) << accepted.error().message();
  ASSERT_EQ(connected->size(), 2u);
  for (const Sockets& ends : {std::cref(*connected), std::cref(*accepted)}) {
    const auto is_beside = [](const ProvenSocket& end) { return is_unix_socket(end.get()); };
    EXPECT_EQ(std::ranges::count_if(ends, is_beside), 1);
  }
}

TEST_F(TcpConnectTest, NobodyWhoCarriesIsAnErrorInTime) {
  const auto near = TcpListener::open("127.0.0.1");
  ASSERT_TRUE(near);
  const auto none = connect_through(*near, {key_, std::chrono::milliseconds(50), stop_}, 1, kDeadline);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, io::ErrorKind::connection);
  stop_ = true;
  EXPECT_EQ(connect_through(*near, {key_, kDeadline, stop_}, 1, kDeadline).error().kind,
            io::ErrorKind::interrupted);
}

TEST_F(TcpConnectTest, WhoeverCarriesThemHasNoMoreThanAreNeeded) {
  auto near = TcpListener::open("127.0.0.1");
  ASSERT_TRUE(near);
  near->open_beside();
  const std::array ends{connect_beside(near->port()).value(), connect_beside(near->port()).value()};
  for (const io::Fd& end : ends) ASSERT_EQ(::shutdown(end.get(), SHUT_RDWR), 0);
  const auto before = std::chrono::steady_clock::now();
  const auto none = connect_through(*near, {key_, kDeadline, stop_}, 2, milliseconds(20));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, io::ErrorKind::connection);
  EXPECT_NE(none.error().message().find("Broken pipe"), std::string::npos) << none.error().message();
  EXPECT_LT(std::chrono::steady_clock::now() - before, kDeadline);
}

// Sealing by itself: within one host nobody needs it, and who asks for it gets it.
TEST_F(TcpConnectTest, WhatStaysOnThisHostIsSealedOnlyIfOneSideAsks) {
  for (const auto& [here_wants, there_wants, sealed] : {std::tuple(Sealing::rather, Sealing::rather, false),
                                                        {Sealing::rather, Sealing::always, true},
                                                        {Sealing::always, Sealing::rather, true},
                                                        {Sealing::rather, Sealing::never, false}}) {
    open("127.0.0.1");
    const Sealing wanted = there_wants;
    accepted_ = std::async(std::launch::async, [this, wanted] {
      return listener_->accept_all({key_, wanted}, 1, kDeadline, stop_, {});
    });
    auto connected = connect_all({here()}, {{key_, here_wants}, kDeadline, stop_}, 1);
    auto accepted = accepted_.get();
    ASSERT_TRUE(connected && accepted);
    EXPECT_EQ(connected->front().seal.has_value(), sealed);
    EXPECT_EQ(accepted->front().seal.has_value(), sealed);
  }
}

}  // namespace
}  // namespace rdcp::net
