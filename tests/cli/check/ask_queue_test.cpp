#include "cli/check/ask_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdcp::cli {
namespace {

std::shared_ptr<Question> question(const std::string& path, std::uint64_t bytes = 1) {
  auto made = std::make_shared<Question>();
  made->item.path = path;
  made->bytes = bytes;
  return made;
}

tree::SumTold told(std::uint32_t id, std::size_t items) {
  return {.id = id, .found = std::vector<tree::SumFound>(items)};
}

TEST(AskQueue, GathersUntilAMessageIsWorthIt) {
  AskQueue queue;
  for (std::size_t i = 1; i < AskQueue::kItemsMax; ++i) queue.add(question("f"));
  EXPECT_FALSE(queue.next());
  queue.add(question("f"));
  const auto ask = queue.next();
  ASSERT_TRUE(ask);
  EXPECT_EQ(ask->items.size(), AskQueue::kItemsMax);
  queue.add(question("large", AskQueue::kAskBytes));
  EXPECT_TRUE(queue.next()) << "one large file is worth a message";
  queue.add(question("last"));
  EXPECT_FALSE(queue.next());
  queue.flush();
  EXPECT_TRUE(queue.next());
  EXPECT_FALSE(queue.next());
}

TEST(AskQueue, OnlySoMuchTextIsUnderWay) {
  AskQueue queue;
  for (int i = 0; i < 100; ++i) {
    queue.add(question(std::string(1000, 'x')));
    queue.flush();
  }
  std::uint32_t sent = 0;
  while (queue.next()) ++sent;
  EXPECT_GE(sent, AskQueue::kTextUnderWay / 1100);
  EXPECT_LE(sent, AskQueue::kTextUnderWay / 1000 + 1);
  EXPECT_TRUE(queue.take(told(1, 1)));
  EXPECT_TRUE(queue.next());
}

TEST(AskQueue, AnswersComeInAnyOrderButOnce) {
  AskQueue queue;
  for (const char* path : {"a", "b"}) {
    queue.add(question(path));
    queue.flush();
    EXPECT_TRUE(queue.next());
  }
  const auto second = queue.take(told(2, 1));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->front()->item.path, "b");
  EXPECT_FALSE(queue.take(told(2, 1)));
  EXPECT_FALSE(queue.take(told(3, 1))) << "it was not asked";
  EXPECT_FALSE(queue.take(told(1, 2))) << "it was asked for one item";
  tree::SumTold many = told(1, 1);
  many.found.front().digests.resize(tree::kSumsMax + 1);
  EXPECT_FALSE(queue.take(many));
  EXPECT_TRUE(queue.take(told(1, 1)));
  EXPECT_TRUE(queue.is_empty());
}

TEST(AskQueue, GivesUpAllThatIsOpen) {
  AskQueue queue;
  queue.add(question("sent"));
  queue.flush();
  EXPECT_TRUE(queue.next());
  queue.add(question("waits"));
  queue.flush();
  queue.add(question("gathered"));
  EXPECT_EQ(queue.give_up().size(), 3u);
  EXPECT_TRUE(queue.is_empty());
  EXPECT_FALSE(queue.next());
}

TEST(AskQueue, AQuestionCostsWhatItsAnswersTake) {
  Question one{.item = {"f", 0, 1 << 20, 0}};
  one.open = 2;
  Question many = one;
  many.open = 200;
  EXPECT_GT(cost_of(many), 50 * cost_of(one));
  Question of_pieces = one;
  of_pieces.item.length = 64 << 20;
  of_pieces.item.unit = 1 << 20;
  EXPECT_GT(cost_of(of_pieces), cost_of(one) + 2 * 60 * sizeof(io::Digest));
}

}  // namespace
}  // namespace rdcp::cli
