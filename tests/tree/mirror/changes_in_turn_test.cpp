// In which order changes are told.
#include "tree/mirror/changes_in_turn.h"

#include <gtest/gtest.h>

#include <string>

namespace rdcp::tree {
namespace {

struct ChangesInTurnTest : testing::Test {
  ChangesInTurnTest() {
    changes.set_tell([this](const Changes& some) {
      std::size_t bytes = 0;
      for (const Change& change : some.list) bytes += change.path.size();
      most = std::max(most, bytes);
      for (const Change& change : some.list) told += change.path;
    });
  }
  void add(std::uint64_t turn, std::uint64_t first, const std::string& paths) {
    Changes page;
    for (const char path : paths) page.list.push_back({"", std::string(1, path), ""});
    changes.add(turn, first, std::move(page));
  }
  std::string told;
  std::size_t most = 0;  // bytes of paths in one call
  ChangesInTurn changes;
};

TEST_F(ChangesInTurnTest, WhatIsFirstIsToldAtOnce) {
  add(1, 1, "ab");
  EXPECT_EQ(told, "ab");
  add(1, 1, "c");
  EXPECT_EQ(told, "abc");
}

TEST_F(ChangesInTurnTest, WhatComesEarlyWaits) {
  add(3, 1, "e");
  add(2, 1, "d");
  EXPECT_EQ(told, "");
  add(1, 1, "abc");
  EXPECT_EQ(told, "abc");
  add(7, 3, "");
  EXPECT_EQ(told, "abcde");
}

TEST_F(ChangesInTurnTest, TheLowestTurnNeverGoesBack) {
  add(5, 5, "b");
  add(6, 2, "d");
  add(5, 4, "c");
  EXPECT_EQ(told, "bc");
  changes.finish();
  EXPECT_EQ(told, "bcd");
}

// A source that never says that anything is over gets its lines told all the same.
TEST_F(ChangesInTurnTest, MemoryIsBounded) {
  const std::string page(ChangesInTurn::kWaitingMax / 4, 'x');
  for (std::uint64_t turn = 2; turn < 20; ++turn) add(turn, 1, page);
  EXPECT_GE(told.size(), page.size() * 14);
}

// Paths may be long, and a control message has a limit.
TEST_F(ChangesInTurnTest, LongPathsAreBoundedInBytesAndToldInParts) {
  const std::string path(60 << 10, 'p');
  for (std::uint64_t turn = 2; turn < 12; ++turn) {
    Changes page;
    page.list.assign(100, {"", path, ""});
    changes.add(turn, 1, std::move(page));
  }
  EXPECT_GE(told.size(), 10 * 100 * path.size() - ChangesInTurn::kWaitingBytesMax);
  EXPECT_LE(most, ChangesInTurn::kToldBytes + path.size());
  changes.finish();
  EXPECT_EQ(told.size(), 10 * 100 * path.size());
}

}  // namespace
}  // namespace rdcp::tree
