// Connections that are made without librdmacm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "net/rails/rdma_facts.h"
#include "net/rdma/rdma_connection.h"
#include "tests/verbs/one_copy.h"
#include "tree/streams/stream_setup.h"

namespace rdcp::made_up {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

Device ethernet(const std::string& name, const std::string& host) {
  return with_address(make_device(Model::connectx7, name), "if-" + name, host);
}

class ByHand : public DevicesTest {
 protected:
  void SetUp() override {
    set({ethernet("one", "10.77.0.1"), ethernet("two", "10.77.0.2")});
    conduct({.no_cm = true});
  }
  static net::RdmaPort port(const std::string& device) {
    for (const net::RdmaPort& port : net::own_rdma_ports().usable) {
      if (port.device == device && port.by_hand()) return port;
    }
    ADD_FAILURE() << device << " cannot be reached";
    return {};
  }
  io::Result<net::RailConnections> connect(const net::RdmaPort& from, const net::RdmaPort& to) {
    std::vector<net::RdmaPort> ports{to};
    auto listener = net::RdmaListener::open(ports);
    EXPECT_TRUE(listener);
    auto accepting = std::async(std::launch::async, [&] { return listener->accept_all(job_.call(false)); });
    auto connected = net::connect_rails({{from, to}}, job_.call(true));
    if (!connected) job_.stop = true;
    auto accepted = accepting.get();
    EXPECT_EQ(accepted.ok(), connected.ok());
    if (accepted) accepted_ = std::move(*accepted);
    return connected;
  }
  // Returns why a listener that has these ports turns an offer down; empty if it does not.
  std::string refusal_of(const net::PairOffer& offer, const net::RdmaPort& listening) {
    std::vector<net::RdmaPort> ports{listening};
    auto listener = net::RdmaListener::open(ports);
    std::promise<std::string> told;
    net::PairExchange box{{.offer = [](const net::PairOffer&) {},
                           .answer = [&](const net::PairAnswer& answer) { told.set_value(answer.refusal); }}};
    net::RdmaCall call = job_.call(false);
    call.pairs = &box;
    auto accepting = std::async(std::launch::async, [&] { return listener->accept_all(call); });
    box.take(offer);
    const std::string refusal = told.get_future().get();
    job_.stop = true;
    EXPECT_FALSE(accepting.get());
    job_.stop = false;
    return refusal;
  }
  // Returns an offer that a listener at this port takes.
  net::PairOffer offer_to(const net::RdmaPort& there) {
    auto ours = net::RdmaConnection::create_by_hand(port("one"), job_.call(true), 0);
    EXPECT_TRUE(ours);
    net::PairOffer offer{.number = 1,
                         .link = there.link,
                         .device = there.device,
                         .port = there.port,
                         .gid = there.gid,
                         .end = (*ours)->end()};
    return offer;
  }

  net::RdmaJob job_;
  net::RdmaConnections accepted_;
};

TEST_F(ByHand, WithoutCmThereIsThisWayAndWhyIsSaid) {
  const net::RdmaPorts ports = net::own_rdma_ports();
  ASSERT_EQ(ports.usable.size(), 2u);
  EXPECT_TRUE(ports.usable[0].by_hand() && ports.usable[1].by_hand());
  EXPECT_THAT(ports.none_because, HasSubstr("/dev/infiniband/rdma_cm: "));
}

TEST_F(ByHand, IwarpHasNoOtherWayThanCm) {
  set({with_address(make_device(Model::iwarp, "siw0"), "rail0", "10.77.0.1")});
  conduct({.no_cm = true});
  EXPECT_TRUE(net::own_rdma_ports().usable.empty());
}

// Both ends get what CM would have given them.
TEST_F(ByHand, QueuePairsHaveTheAttributesThatCmGives) {
  job_.traffic_class = 106;
  job_.round_trip = milliseconds(100);
  ASSERT_TRUE(connect(port("one"), port("two")));
  const auto made = fabric().brought_up();
  ASSERT_EQ(made.size(), 2u);
  for (const ibv_qp_attr& pair : made) {
    EXPECT_EQ(pair.path_mtu, IBV_MTU_4096);
    EXPECT_EQ(pair.timeout, net::ack_timeout(milliseconds(100)));
    EXPECT_EQ(pair.retry_cnt, net::kRetries);
    EXPECT_EQ(pair.rnr_retry, net::kReceiverNotReadyRetries);
    EXPECT_EQ(pair.min_rnr_timer, 0) << "655 ms";
    EXPECT_EQ(pair.max_rd_atomic, 0);
    EXPECT_EQ(pair.max_dest_rd_atomic, 0);
    EXPECT_EQ(pair.ah_attr.grh.traffic_class, 106);
    EXPECT_EQ(pair.qp_access_flags, static_cast<unsigned>(IBV_ACCESS_REMOTE_WRITE));
  }
  EXPECT_NE(made[0].rq_psn, made[1].rq_psn);
}

TEST_F(ByHand, TheSmallerMtuOfBothIsThePaths) {
  Device small = ethernet("two", "10.77.0.2");
  small.ports[0].active_mtu = IBV_MTU_1024;
  set({ethernet("one", "10.77.0.1"), small});
  conduct({.drops_above = 1024, .no_cm = true});  // the handshake fills a packet in both directions
  ASSERT_TRUE(connect(port("one"), port("two")));
  for (const ibv_qp_attr& pair : fabric().brought_up()) EXPECT_EQ(pair.path_mtu, IBV_MTU_1024);
}

TEST_F(ByHand, InfiniBandNeedsNoAddressAndGoesByLid) {
  set({make_device(Model::connectx8, "one"), make_device(Model::connectx8, "two")});
  ASSERT_TRUE(connect(port("one"), port("two")));
  for (const ibv_qp_attr& pair : fabric().brought_up()) {
    EXPECT_EQ(pair.ah_attr.is_global, 0);
    EXPECT_NE(pair.ah_attr.dlid, 0);
    EXPECT_EQ(pair.ah_attr.sl, 0);
  }
  EXPECT_FALSE(net::own_rdma_ports().usable[0].by_hand() && net::own_rdma_ports().none_because.empty());
}

// What librdmacm would ask the subnet manager for: packets of a class have a service level of their own.
TEST_F(ByHand, OnInfiniBandTheClassIsAServiceLevelInBothDirections) {
  set({make_device(Model::connectx8, "one"), make_device(Model::connectx8, "two")});
  job_.traffic_class = 104;  // af31
  ASSERT_TRUE(connect(port("one"), port("two")));
  const auto made = fabric().brought_up();
  ASSERT_EQ(made.size(), 2u);
  for (const ibv_qp_attr& pair : made) EXPECT_EQ(pair.ah_attr.sl, 3);
}

TEST_F(ByHand, AnEndWithoutAClassAnswersWithTheLevelOfTheOther) {
  set({make_device(Model::connectx8, "one"), make_device(Model::connectx8, "two")});
  net::RdmaCall without = job_.call(false);
  job_.traffic_class = 104;
  const auto with = net::RdmaConnection::create_by_hand(port("one"), job_.call(true), 0);
  const auto other = net::RdmaConnection::create_by_hand(port("two"), without, 0);
  ASSERT_TRUE(with && other);
  EXPECT_EQ((*with)->end().service_level, 3);
  EXPECT_EQ((*other)->end().service_level, 0);
  ASSERT_TRUE((*other)->join((*with)->end(), without));
  ASSERT_EQ(fabric().brought_up().size(), 1u);
  EXPECT_EQ(fabric().brought_up()[0].ah_attr.sl, 3);
}

// A tenant's hosts are limited members of the default partition, in which they cannot speak to each other.
TEST_F(ByHand, OnInfiniBandTheFirstPartitionWithFullMembershipIsTaken) {
  const auto tenant = [](const std::string& name, std::vector<std::uint16_t> partitions) {
    Device device = make_device(Model::connectx8, name);
    device.ports[0].partitions = std::move(partitions);
    return device;
  };
  set({tenant("one", {0x7fff, 0, 0x8005}), tenant("two", {0x7fff, 0x8005, 0x8006})});
  ASSERT_TRUE(connect(port("one"), port("two")));
  set({tenant("one", {0x7fff}), tenant("two", {0xffff})});  // a limited member and a full one
  EXPECT_TRUE(connect(port("one"), port("two")));
}

TEST_F(ByHand, ACopyArrivesWhole) {
  OneCopy copy(port("one"));
  copy.run(50);
  EXPECT_EQ(copy.error(), "");
  EXPECT_THAT(copy.source_stream().description(), HasSubstr(", without rdma_cm) 10.77.0.1 -> 10.77.0.1"));
}

TEST_F(ByHand, APathThatLosesFullPacketsIsNotUsed) {
  conduct({.drops_above = 1024, .no_cm = true});
  const auto connected = connect(port("one"), port("two"));
  ASSERT_FALSE(connected);
  EXPECT_THAT(connected.error().message(), HasSubstr("small packets arrive there, full ones (of 4096 bytes"));
}

TEST_F(ByHand, APathOnWhichNobodyAnswersIsGivenUp) {
  Conduct silent{.no_cm = true};
  for (std::uint64_t request = 1; request <= 100; ++request)
    silent.faults.push_back({.kind = Fault::Kind::silent, .at_request = request});
  conduct(silent);
  job_.patience.no_answer = std::chrono::seconds(1);
  const auto connected = connect(port("one"), port("two"));
  ASSERT_FALSE(connected);
  EXPECT_THAT(connected.error().message(), HasSubstr("one/1 -> 10.77.0.2: does not answer any more"));
}

TEST_F(ByHand, AnOfferThatNobodyAnswersIsGivenUp) {
  net::PairExchange lost{{.offer = [](const net::PairOffer&) {}, .answer = [](const net::PairAnswer&) {}}};
  job_.patience.no_answer = milliseconds(50);
  net::RdmaCall call = job_.call(true);
  call.pairs = &lost;
  const auto connected = net::connect_rails({{port("one"), port("two")}}, call);
  ASSERT_FALSE(connected);
  EXPECT_THAT(connected.error().message(), HasSubstr("one/1 -> 10.77.0.2: does not answer"));
}

TEST_F(ByHand, AListenerWithAnotherKeyIsNoPeer) {
  job_.patience.refused = milliseconds(0);
  net::RdmaJob other;
  other.patience.refused = milliseconds(0);
  std::vector<net::RdmaPort> ports{port("two")};
  auto listener = net::RdmaListener::open(ports);
  auto accepting = std::async(std::launch::async, [&] { return listener->accept_all(job_.call(false)); });
  net::RdmaCall call = other.call(true);
  call.pairs = &job_.boxes.connecting;
  const auto connected = net::connect_rails({{port("one"), ports[0]}}, call);
  job_.stop = true;
  EXPECT_FALSE(accepting.get());
  ASSERT_FALSE(connected);
  EXPECT_THAT(connected.error().message(), HasSubstr("one/1 -> 10.77.0.2: "));
}

TEST_F(ByHand, WhoOffersAndProvesNothingIsToldThatItIsOver) {
  job_.handshake = milliseconds(50);
  std::vector<net::RdmaPort> ports{port("two")};
  auto listener = net::RdmaListener::open(ports);
  std::promise<std::string> refused;
  net::PairExchange box{{.offer = [](const net::PairOffer&) {},
                         .answer =
                             [&](const net::PairAnswer& answer) {
                               if (!answer.refusal.empty()) refused.set_value(answer.refusal);
                             }}};
  net::RdmaCall call = job_.call(false);
  call.pairs = &box;
  auto accepting = std::async(std::launch::async, [&] { return listener->accept_all(call); });
  auto silent = net::RdmaConnection::create_by_hand(port("one"), job_.call(true), 0);
  ASSERT_TRUE(silent);
  const net::RdmaPort& there = ports[0];
  box.take(net::PairOffer{.number = 1,
                          .link = there.link,
                          .device = there.device,
                          .port = there.port,
                          .gid = there.gid,
                          .end = (*silent)->end()});
  EXPECT_EQ(refused.get_future().get(), "did not prove the key in time");
  job_.stop = true;
  EXPECT_FALSE(accepting.get());
}

TEST_F(ByHand, HostileOffersAreTurnedDown) {
  const net::RdmaPort there = port("two");
  EXPECT_EQ(refusal_of(offer_to(there), there), "");
  net::PairOffer offer = offer_to(there);
  offer.device = "three";
  EXPECT_EQ(refusal_of(offer, there), "there is no such port or stream");
  offer = offer_to(there);
  offer.port = 2;
  EXPECT_EQ(refusal_of(offer, there), "there is no such port or stream");
  offer = offer_to(there);
  offer.gid = port("one").gid;
  EXPECT_EQ(refusal_of(offer, there), "there is no such port or stream");
  offer = offer_to(there);
  offer.link = net::LinkKind::iwarp;
  EXPECT_EQ(refusal_of(offer, there), "there is no such port or stream");
  offer = offer_to(there);
  offer.stream = job_.streams;
  EXPECT_EQ(refusal_of(offer, there), "there is no such port or stream");
  offer = offer_to(there);
  offer.end.gid = {};
  EXPECT_EQ(refusal_of(offer, there), "it has no GID");
  offer = offer_to(there);
  offer.end.routable = false;
  EXPECT_THAT(refusal_of(offer, there), HasSubstr("No such file"));  // no GID of version 1 here
}

// As agents do it: what each says to the other is passed on.
TEST_F(ByHand, AgentsMakeFurtherStreamsToo) {
  const tree::StreamPlace place;
  tree::StreamSetup connecting{place}, listening{place};
  connecting.exchange_pairs({.offer = [&](const net::PairOffer& offer) { listening.hear(offer); },
                             .answer = [](const net::PairAnswer&) {}});
  listening.exchange_pairs({.offer = [](const net::PairOffer&) {},
                            .answer = [&](const net::PairAnswer& answer) { connecting.hear(answer); }});
  tree::StreamWish wish;
  wish.transport = tree::Transport::rdma;
  const auto from = connecting.open(wish);
  wish.connect = tree::Connect::listen;
  const auto to = listening.open(wish);
  ASSERT_TRUE(from && to);
  tree::Begin begin;
  begin.streams = 3;
  begin.chunk_bytes = 64 << 10;
  begin.rails = net::choose_rails(from->rdma, to->rdma, "").candidates;
  auto accepting = std::async(std::launch::async, [&] { return listening.make(begin, false, ""); });
  const auto connected = connecting.make(begin, true, "");
  const auto accepted = accepting.get();
  ASSERT_TRUE(connected) << connected.error().message();
  ASSERT_TRUE(accepted) << accepted.error().message();
  EXPECT_EQ(connected->size(), 3u);
  auto further =
      std::async(std::launch::async, [&] { return listening.next(3, tree::StreamsLeft::some).has_value(); });
  EXPECT_TRUE(connecting.next(3, tree::StreamsLeft::some));
  EXPECT_TRUE(further.get());
}

}  // namespace
}  // namespace rdcp::made_up
