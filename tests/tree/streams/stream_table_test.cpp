// Tests how the table follows each of a job's streams.
#include "tree/streams/stream_table.h"

#include <gtest/gtest.h>

#include "tree/messages/job.h"

namespace rdcp::tree {
namespace {

io::Error cut() {
  return io::plain_error(io::ErrorKind::connection, "receive from", "peer", "cut");
}

struct StreamFates : testing::Test {
  StreamFates() {
    table.set_tell([this](std::size_t stream) { told.push_back(stream); });
  }
  bool lose(std::size_t stream, bool carried = true) { return table.lose(stream, "tcp", cut(), carried); }
  StreamTable table;
  std::vector<std::size_t> told;  // to the other side
};

TEST_F(StreamFates, ALostStreamIsDroppedAsLongAsAnotherIsLeft) {
  table.begin(2);
  EXPECT_TRUE(lose(0));
  EXPECT_FALSE(lose(1)) << "the run ends with the last one";
  EXPECT_EQ(told, (std::vector<std::size_t>{0}));
  EXPECT_EQ(table.last_loss()->detail, "cut");
}

TEST_F(StreamFates, OneThatEndedWellIsEnough) {
  table.begin(2);
  table.end(0);
  EXPECT_TRUE(table.any_ended());
  EXPECT_TRUE(lose(1));
  EXPECT_EQ(table.missing(), 0u) << "none is wanted any more";
}

TEST_F(StreamFates, AWarningNamesTheStreamAsPeopleCount) {
  table.begin(2);
  lose(1);
  ASSERT_EQ(table.lost().size(), 1u);
  EXPECT_EQ(table.lost()[0],
            "stream 2 (tcp) was lost: " + cut().message() + "; its chunks went over the others");
}

TEST_F(StreamFates, WhatTheOtherSideSaidIsNotToldBack) {
  table.begin(3);
  EXPECT_TRUE(table.give_up(1));
  EXPECT_TRUE(table.given_up(1));
  EXPECT_TRUE(lose(1));
  EXPECT_TRUE(told.empty());
  EXPECT_TRUE(lose(2));
  EXPECT_EQ(told, (std::vector<std::size_t>{2}));
}

TEST_F(StreamFates, ItIsKnownIfTheLastOnesCarriedAnything) {
  table.begin(2, true);
  lose(0, false);
  lose(1, false);
  EXPECT_FALSE(table.last_carried());
  ASSERT_TRUE(table.add(5));
  lose(5, true);
  EXPECT_TRUE(table.last_carried());
  ASSERT_TRUE(table.add(7));
  lose(7, false);
  EXPECT_FALSE(table.last_carried()) << "of those that came the newest counts";
}

TEST_F(StreamFates, OneOfTheFirstThatCarriedIsEnough) {
  table.begin(2, true);
  lose(0, true);
  lose(1, false);
  EXPECT_TRUE(table.last_carried());
}

TEST_F(StreamFates, AStreamMayBeGivenUpBeforeTheWorkersStart) {
  EXPECT_TRUE(table.give_up(1));
  table.begin(2);
  EXPECT_TRUE(table.given_up(1));
  EXPECT_FALSE(table.given_up(0));
}

TEST_F(StreamFates, AStreamThatThereCannotBeIsRefused) {
  EXPECT_FALSE(table.give_up(kStreamNumbersMax));
  table.begin(2);
  EXPECT_FALSE(table.give_up(2)) << "none comes later in this job";
}

TEST_F(StreamFates, AFurtherStreamTakesTheLostOnesPlace) {
  table.begin(2, true);
  EXPECT_TRUE(lose(0));
  EXPECT_EQ(table.missing(), 1u);
  EXPECT_TRUE(table.add(2));
  EXPECT_EQ(table.missing(), 0u);
  EXPECT_NE(table.lost()[0].find("another one took its place"), std::string::npos);
}

TEST_F(StreamFates, ANumberIsUsedOnce) {
  table.begin(2, true);
  EXPECT_FALSE(table.add(0)) << "one of the first";
  EXPECT_TRUE(table.add(2));
  EXPECT_FALSE(table.add(2));
  EXPECT_TRUE(table.give_up(4));
  EXPECT_FALSE(table.add(4)) << "the other side has given it up already";
  EXPECT_TRUE(table.add(3)) << "streams may come in any order";
}

TEST_F(StreamFates, NoMoreStreamsLiveThanTwiceTheFirst) {
  table.begin(1, true);
  EXPECT_TRUE(table.add(1));
  EXPECT_FALSE(table.add(2));
}

TEST_F(StreamFates, AFurtherStreamThatCarriedNothingIsAFailedTry) {
  table.begin(1, true);
  lose(0);
  ASSERT_TRUE(table.add(1));
  EXPECT_TRUE(lose(1, false));
  EXPECT_TRUE(table.in_vain(1));
  EXPECT_EQ(table.needs(), 1u) << "nobody hears of it";
  EXPECT_EQ(table.missing(), 1u);
  ASSERT_TRUE(table.add(2));
  EXPECT_TRUE(lose(2, true));
  EXPECT_FALSE(table.in_vain(2));
  EXPECT_EQ(table.needs(), 2u);
}

TEST_F(StreamFates, MoreThanAtFirstMayBeUsed) {
  table.begin(2, true);
  table.use(4);
  EXPECT_EQ(table.missing(), 2u);
  EXPECT_EQ(table.needs(), 1u);
  EXPECT_TRUE(table.add(2));
  EXPECT_TRUE(table.add(3));
  EXPECT_EQ(table.missing(), 0u);
  EXPECT_EQ(table.living(), 4u);
  for (std::size_t stream = 0; stream < 4; ++stream) EXPECT_FALSE(table.rests(stream));
}

// The other side may say how many, and must not choose how many threads there are here.
TEST_F(StreamFates, NoMoreAreMissingThanMayLive) {
  table.begin(2, true);
  table.use(64);
  EXPECT_EQ(table.missing(), 2u);
  ASSERT_TRUE(table.add(2) && table.add(3));
  EXPECT_EQ(table.missing(), 0u);
}

TEST_F(StreamFates, ThoseWithTheHighestNumbersRest) {
  table.begin(2, true);
  table.use(4);
  ASSERT_TRUE(table.add(2) && table.add(3));
  const std::uint64_t before = table.changes();
  table.use(1);
  EXPECT_GT(table.changes(), before) << "workers learn of it";
  EXPECT_FALSE(table.rests(1)) << "there are no fewer than at first";
  EXPECT_TRUE(table.rests(2));
  EXPECT_TRUE(table.rests(3));
  table.use(3);
  EXPECT_FALSE(table.rests(2));
  EXPECT_TRUE(table.rests(3));
  EXPECT_EQ(table.missing(), 0u);
}

TEST_F(StreamFates, WhoRestsTakesALostOnesPlace) {
  table.begin(2, true);
  table.use(3);
  ASSERT_TRUE(table.add(2));
  table.use(2);
  EXPECT_TRUE(lose(0));
  EXPECT_FALSE(table.rests(2));
  EXPECT_EQ(table.missing(), 0u);
  table.use(2);
  EXPECT_FALSE(table.rests(2)) << "two are left";
}

TEST_F(StreamFates, NobodyRestsAtTheEnd) {
  table.begin(1, true);
  table.use(2);
  ASSERT_TRUE(table.add(1));
  table.use(1);
  EXPECT_TRUE(table.rests(1));
  table.end(0);
  EXPECT_FALSE(table.rests(1));
  table.use(1);
  EXPECT_FALSE(table.rests(1));
}

TEST_F(StreamFates, OneThatWasAddedAndLostLeavesAsManyAsThereWere) {
  table.begin(2, true);
  table.use(3);
  ASSERT_TRUE(table.add(2));
  EXPECT_TRUE(lose(2));
  EXPECT_EQ(table.missing(), 1u);
  EXPECT_NE(table.lost()[0].find("another one took its place"), std::string::npos);
}

TEST_F(StreamFates, TheLossOfTheLastIsWaitedOutWhereOthersMayCome) {
  table.begin(1, true);
  EXPECT_TRUE(lose(0));
  EXPECT_TRUE(table.gone_for(std::chrono::seconds(0)));
  EXPECT_FALSE(table.gone_for(std::chrono::seconds(1000)));
  ASSERT_TRUE(table.add(1));
  EXPECT_FALSE(table.gone_for(std::chrono::seconds(0)));
}

TEST_F(StreamFates, WorkersAreWokenWhenOneHasLeft) {
  table.begin(2);
  const std::uint64_t before = table.changes();
  EXPECT_FALSE(table.has_left(0));
  table.leave(0);
  EXPECT_TRUE(table.has_left(0));
  EXPECT_NE(table.changes(), before);
}

}  // namespace
}  // namespace rdcp::tree
