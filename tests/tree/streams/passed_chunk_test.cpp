#include "tree/streams/passed_chunk.h"

#include <gtest/gtest.h>

#include <thread>

namespace rdcp::tree {
namespace {

struct PassedChunkTest : testing::Test {
  std::unique_ptr<io::Ring> ring = io::make_ring(io::RingChoice::thread_pool, 4).value();
  AnswerDesk desk{*ring};
  PassedChunk chunk{desk};
  std::vector<std::byte> payload = std::vector<std::byte>(100, std::byte{7});
};

TEST_F(PassedChunkTest, AnAnswerReachesTheWorkerOnce) {
  EXPECT_TRUE(chunk.is_answered());
  chunk.begin({}, payload, 1, false);
  EXPECT_FALSE(chunk.is_answered());
  EXPECT_FALSE(desk.take_news());
  PassedChunkRef(chunk).answer({net::AckStatus::refused, {}});
  EXPECT_TRUE(chunk.is_answered());
  EXPECT_EQ(chunk.answers().front().status, net::AckStatus::refused);
  EXPECT_FALSE(chunk.lacks_answer());
  EXPECT_TRUE(desk.take_news());
  EXPECT_FALSE(desk.take_news());
}

TEST_F(PassedChunkTest, WhoeverDropsItSaysThatNobodyIsBehind) {
  chunk.begin({}, payload, 1, false);
  { const PassedChunkRef dropped(chunk); }
  EXPECT_TRUE(chunk.is_answered());
  EXPECT_TRUE(chunk.lacks_answer());
}

TEST_F(PassedChunkTest, EachTargetThatItIsPassedOnToAnswers) {
  chunk.begin({}, payload, 3, false);
  PassedChunkRef(chunk).answer({net::AckStatus::refused, {}});
  chunk.take(std::nullopt);
  EXPECT_FALSE(chunk.is_answered());
  EXPECT_FALSE(desk.take_news());
  PassedChunkRef(chunk).answer({net::AckStatus::done, {}});
  EXPECT_TRUE(chunk.is_answered());
  EXPECT_TRUE(desk.take_news());
  EXPECT_EQ(chunk.answers().size(), 2u);
  EXPECT_TRUE(chunk.lacks_answer());
}

TEST_F(PassedChunkTest, ARefThatWasMovedFromAnswersNothing) {
  chunk.begin({}, payload, 1, false);
  PassedChunkRef first(chunk);
  {
    PassedChunkRef second(std::move(first));
    EXPECT_FALSE(chunk.is_answered());
    second.answer({});
  }
  EXPECT_FALSE(chunk.lacks_answer());
}

TEST_F(PassedChunkTest, ACopyOutlivesTheSlot) {
  chunk.begin({}, payload, 1, true);
  payload.assign(100, std::byte{9});
  EXPECT_EQ(chunk.payload().front(), std::byte{7});
  chunk.take(std::nullopt);
  chunk.begin({}, payload, 1, false);
  EXPECT_EQ(chunk.payload().data(), payload.data());
  chunk.take(std::nullopt);
}

TEST_F(PassedChunkTest, AWorkerThatEndsWaitsForAllThatIsUnderWay) {
  chunk.begin({}, payload, 1, false);
  std::thread answering([ref = PassedChunkRef(chunk)]() mutable { ref.answer({}); });
  desk.wait_for_all();
  EXPECT_TRUE(chunk.is_answered());
  answering.join();
}

}  // namespace
}  // namespace rdcp::tree
