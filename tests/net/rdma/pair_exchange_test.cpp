#include "net/rdma/pair_exchange.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <vector>

namespace rdcp::net {
namespace {

PairEnd sound(LinkKind link) {
  PairEnd end;
  end.gid[15] = std::byte{1};
  end.lid = link == LinkKind::infiniband ? 1 : 0;
  return end;
}

TEST(PairEnd, NobodyCanSendToOneWithoutAnAddress) {
  EXPECT_EQ(fault_of(sound(LinkKind::infiniband), LinkKind::infiniband), "");
  EXPECT_EQ(fault_of(sound(LinkKind::roce), LinkKind::roce), "");
  EXPECT_NE(fault_of(sound(LinkKind::iwarp), LinkKind::iwarp), "");
  PairEnd end = sound(LinkKind::infiniband);
  for (const std::uint16_t lid : {0, 0xc000, 0xffff}) {
    end.lid = lid;
    EXPECT_EQ(fault_of(end, LinkKind::infiniband), "it has no LID") << lid;
  }
  end.lid = 0xbfff;
  EXPECT_EQ(fault_of(end, LinkKind::infiniband), "");
  end.gid = {};
  EXPECT_EQ(fault_of(end, LinkKind::infiniband), "it has no GID");
}

// An exchange that keeps what it sends.
struct Box {
  std::vector<PairOffer> offered;
  std::vector<PairAnswer> answered;
  PairExchange exchange{{.offer = [this](const PairOffer& offer) { offered.push_back(offer); },
                         .answer = [this](const PairAnswer& answer) { answered.push_back(answer); }}};
  bool rings() const {
    pollfd wait{exchange.fd(), POLLIN, 0};
    return ::poll(&wait, 1, 0) == 1;
  }
};

TEST(PairExchange, EachOfferHasANumberOfItsOwn) {
  Box box;
  const std::uint32_t first = box.exchange.offer({});
  const std::uint32_t second = box.exchange.offer({});
  EXPECT_NE(first, second);
  ASSERT_EQ(box.offered.size(), 2u);
  EXPECT_EQ(box.offered[1].number, second);
}

TEST(PairExchange, AnAnswerReachesWhoWaitsForIt) {
  Box box;
  const std::uint32_t first = box.exchange.offer({}), second = box.exchange.offer({});
  box.exchange.take(PairAnswer{.number = second, .end = {}});
  EXPECT_TRUE(box.rings());
  box.exchange.quiet();
  EXPECT_FALSE(box.rings());
  EXPECT_FALSE(box.exchange.answer_to(first));
  EXPECT_TRUE(box.exchange.answer_to(second));
  EXPECT_FALSE(box.exchange.answer_to(second)) << "once";
}

TEST(PairExchange, AnswersThatNobodyWaitsForAreNotKept) {
  Box box;
  box.exchange.take(PairAnswer{.number = 7, .end = {}});
  const std::uint32_t number = box.exchange.offer({});
  box.exchange.forget(number);
  box.exchange.take(PairAnswer{.number = number, .end = {}});
  EXPECT_FALSE(box.rings());
  EXPECT_FALSE(box.exchange.answer_to(number));
}

TEST(PairExchange, NoMoreAnswersAreKeptThanThereCanBe) {
  Box box;
  const std::uint32_t number = box.exchange.offer({});
  for (int i = 0; i < 100; ++i) box.exchange.take(PairAnswer{.number = number, .end = {}});
  int kept = 0;
  while (box.exchange.answer_to(number)) ++kept;
  EXPECT_EQ(kept, 2);
}

TEST(PairExchange, AnOfferTooManyIsTurnedDown) {
  Box box;
  for (std::uint32_t i = 1; i <= PairExchange::kOffersMax; ++i) box.exchange.take(PairOffer{.number = i});
  EXPECT_TRUE(box.answered.empty());
  box.exchange.take(PairOffer{.number = 99});
  ASSERT_EQ(box.answered.size(), 1u);
  EXPECT_EQ(box.answered[0].number, 99u);
  EXPECT_NE(box.answered[0].refusal, "");
  EXPECT_EQ(box.exchange.next_offer()->number, 1u) << "the oldest first";
}

TEST(PairExchange, NamesThatNoPortHasAreNotKept) {
  Box box;
  box.exchange.take(PairOffer{.number = 1, .device = std::string(1 << 20, 'x')});
  box.exchange.take(PairOffer{.number = 2, .gid = std::string(1 << 20, ':')});
  EXPECT_EQ(box.answered.size(), 2u);
  EXPECT_FALSE(box.exchange.next_offer());
}

}  // namespace
}  // namespace rdcp::net
