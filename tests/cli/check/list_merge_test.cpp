#include "cli/check/list_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace rdcp::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using tree::EntryType;
using tree::Listed;
using tree::ListedEntry;

// Makes an entry of a word: "a/" is a directory, "" the top, "f=3" a file of 3 bytes.
ListedEntry entry(std::string word) {
  ListedEntry made;
  const bool directory = word.empty() || word.ends_with('/');
  if (directory && !word.empty()) word.pop_back();
  const std::size_t equals = word.find('=');
  if (equals != word.npos) made.size = std::stoull(word.substr(equals + 1));
  made.path = word.substr(0, equals);
  made.type = directory ? EntryType::directory : EntryType::file;
  return made;
}

Listed page(const std::vector<std::string>& words, bool over) {
  Listed made;
  made.over = over;
  for (const std::string& word : words) made.entries.push_back(entry(word));
  return made;
}

struct ListMergeTest : testing::Test {
  explicit ListMergeTest(std::size_t targets = 3)
      : merge(targets,
              {.missing = [this](std::size_t side,
                                 const ListedEntry& entry) { note(fmt::format("{}-{}", side, entry.path)); },
               .extra = [this](std::size_t side,
                               const ListedEntry& entry) { note(fmt::format("{}+{}", side, entry.path)); },
               .both =
                   [this](const ListedEntry& wanted, const std::vector<ListMerge::Match>& found) {
                     std::string line = wanted.path + ":";
                     for (const auto& match : found) {
                       const bool same = match.found.size == wanted.size && match.found.type == wanted.type;
                       line += fmt::format("{}{}", match.side, same ? "" : "!");
                     }
                     note(line);
                   }}) {}
  void note(std::string line) { lines.push_back(std::move(line)); }
  bool add(std::size_t side, const std::vector<std::string>& words, bool over = true) {
    return merge.add(side, page(words, over));
  }
  std::vector<std::string> merged() {
    while (merge.take_next()) {
    }
    return std::exchange(lines, {});
  }

  std::vector<std::string> lines;
  ListMerge merge;
};

TEST_F(ListMergeTest, EqualListsComeTogether) {
  for (std::size_t side = 0; side < 4; ++side) ASSERT_TRUE(add(side, {"", "a", "b/", "b/c"}));
  EXPECT_THAT(merged(), ElementsAre(":123", "a:123", "b:123", "b/c:123"));
  EXPECT_TRUE(merge.is_over());
  EXPECT_EQ(merge.compared(1), 4u);
}

TEST_F(ListMergeTest, EachTargetHasItsOwnDifferences) {
  ASSERT_TRUE(add(0, {"", "a=1", "b", "d"}));
  ASSERT_TRUE(add(1, {"", "a=1", "d"}));                 // lacks one
  ASSERT_TRUE(add(2, {"", "a=1", "b", "c", "d", "e"}));  // has more
  ASSERT_TRUE(add(3, {"", "a=2", "b", "d"}));            // differs
  EXPECT_THAT(merged(), ElementsAre(":123", "a:123!", "1-b", "b:23", "2+c", "d:123", "2+e"));
  EXPECT_TRUE(merge.is_over());
  EXPECT_EQ(merge.compared(1), 4u);
  EXPECT_EQ(merge.compared(2), 6u);
}

TEST_F(ListMergeTest, ADirectoryIsToldAsAWhole) {
  ASSERT_TRUE(add(0, {"", "a/", "a/b", "a/c/", "a/c/d", "e"}));
  ASSERT_TRUE(add(1, {"", "e"}));
  ASSERT_TRUE(add(2, {"", "a/", "a/b", "a/c/", "a/c/d", "b/", "b/x", "e"}));
  ASSERT_TRUE(add(3, {"", "a", "e"}));  // of another type
  EXPECT_THAT(merged(), ElementsAre(":123", "1-a", "a:23!", "a/b:2", "a/c:2", "a/c/d:2", "2+b", "e:123"));
  EXPECT_EQ(merge.compared(1), 3u);
}

TEST_F(ListMergeTest, WhatIsAFileAtTheSourceMayBeADirectoryAtATarget) {
  ASSERT_TRUE(add(0, {"", "a", "b"}));
  for (std::size_t side = 1; side < 4; ++side) ASSERT_TRUE(add(side, {"", "a/", "a/x", "b"}));
  EXPECT_THAT(merged(), ElementsAre(":123", "a:1!2!3!", "b:123"));
}

TEST_F(ListMergeTest, OneThatLagsHoldsTheOthers) {
  ASSERT_TRUE(add(0, {"", "a", "b"}));
  ASSERT_TRUE(add(1, {"", "a", "b"}));
  ASSERT_TRUE(add(2, {"", "a"}, false));
  EXPECT_THAT(merged(), IsEmpty());
  ASSERT_TRUE(add(3, {"", "b"}));
  EXPECT_THAT(merged(), ElementsAre(":123", "3-a", "a:12"));
  EXPECT_FALSE(merge.is_over());
  ASSERT_TRUE(add(2, {"b"}));
  EXPECT_THAT(merged(), ElementsAre("b:123"));
  EXPECT_TRUE(merge.is_over());
}

TEST_F(ListMergeTest, OneThatIsLostHoldsNobody) {
  ASSERT_TRUE(add(0, {"", "a", "b"}));
  ASSERT_TRUE(add(1, {"", "a", "b"}));
  ASSERT_TRUE(add(2, {"", "a"}, false));
  ASSERT_TRUE(add(3, {"", "a", "b"}));
  EXPECT_THAT(merged(), ElementsAre(":123", "a:123"));
  merge.leave_out(2);
  EXPECT_THAT(merged(), ElementsAre("b:13"));
  EXPECT_TRUE(merge.is_over());
  EXPECT_EQ(merge.compared(2), 2u);
}

TEST_F(ListMergeTest, WhatTheSourceLacksDoesNotWaitForOthers) {
  ASSERT_TRUE(add(0, {"", "z"}));
  ASSERT_TRUE(add(1, {"", "z"}));
  ASSERT_TRUE(add(3, {"", "z"}));
  ASSERT_TRUE(add(2, {""}, false));
  EXPECT_THAT(merged(), ElementsAre(":123"));
  ASSERT_TRUE(add(2, {"a", "b"}, false));
  EXPECT_THAT(merged(), ElementsAre("2+a", "2+b"));
}

TEST_F(ListMergeTest, WhatWasNotListedIsNoDifference) {
  ASSERT_TRUE(add(0, {"", "a/", "a/b", "c"}));
  ASSERT_TRUE(add(1, {"", "a/", "c"}));
  ASSERT_TRUE(add(2, {"", "a/", "a/b", "c", "d"}));
  ASSERT_TRUE(add(3, {"", "a/", "c"}));
  merge.add_unlisted(1, "a");
  merge.add_unlisted(0, "d");
  EXPECT_THAT(merged(), ElementsAre(":123", "a:123", "3-a/b", "a/b:2", "c:123"));
}

TEST_F(ListMergeTest, AListThatIsNotInOrderIsRefused) {
  EXPECT_FALSE(add(1, {"a"})) << "the top comes first";
  EXPECT_FALSE(add(2, {"", "b", "a"}));
  EXPECT_FALSE(add(3, {"", "../x"}));
}

TEST_F(ListMergeTest, AListMayTakeThePlaceOfAnother) {
  ASSERT_TRUE(add(1, {"", "x"}, false));
  merge.begin_anew(1);
  EXPECT_EQ(merge.next_of(1), nullptr);
  ASSERT_TRUE(add(1, {""}));
  EXPECT_NE(merge.next_of(1), nullptr);
}

TEST_F(ListMergeTest, AnEmptyListIsOneOfNothing) {
  ASSERT_TRUE(add(1, {}));
  EXPECT_TRUE(merge.is_empty(1));
  EXPECT_FALSE(merge.is_empty(2)) << "it has not come yet";
}

struct ManyTargets : ListMergeTest {
  static constexpr std::size_t kTargets = 200;
  ManyTargets() : ListMergeTest(kTargets) {}
};

// Feeds all lists as fast as the merge takes them, but for one that never comes.
TEST_F(ManyTargets, NoListIsHeldInFullForOneThatLags) {
  constexpr std::size_t kPageEntries = 256;
  std::size_t held = 0;
  for (std::size_t side = 0; side < kTargets; ++side) {  // all but the last
    std::size_t next = 0;
    for (std::size_t pages = 0; pages < 1000 && merge.wants_more(side); ++pages) {
      std::vector<std::string> words;
      if (next == 0) words.emplace_back();
      while (words.size() < kPageEntries) words.push_back(fmt::format("{:08}", next++));
      held += words.size();
      ASSERT_TRUE(add(side, words, false));
      EXPECT_THAT(merged(), IsEmpty());
    }
    EXPECT_FALSE(merge.wants_more(side));
  }
  EXPECT_LT(held, kTargets * 1024);
}

}  // namespace
}  // namespace rdcp::cli
