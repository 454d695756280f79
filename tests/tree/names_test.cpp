#include "tree/names.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace rdcp::tree {
namespace {

// Numbers and names that no system gives out.
constexpr std::uint32_t kUnknownId = 3'999'999'001;
constexpr char kUnknownName[] = "rdcp-nobody-has-this-name";

TEST(NameTable, KnowsRootBothWays) {
  NameTable names;
  EXPECT_EQ(names.user_name(0), "root");
  EXPECT_EQ(names.group_name(0), "root");
  EXPECT_EQ(names.user_id("root"), 0u);
  EXPECT_EQ(names.group_id("root"), 0u);
}

TEST(NameTable, UnknownNumberHasAnEmptyName) {
  NameTable names;
  EXPECT_EQ(names.user_name(kUnknownId), "");
  EXPECT_EQ(names.group_name(kUnknownId), "");
}

TEST(NameTable, UnknownNameIsNotUserZero) {
  NameTable names;
  EXPECT_EQ(names.user_id(kUnknownName), std::nullopt);
  EXPECT_EQ(names.group_id(kUnknownName), std::nullopt);
}

TEST(NameTable, EmptyNameIsNobody) {
  NameTable names;
  EXPECT_EQ(names.user_id(""), std::nullopt);
  EXPECT_EQ(names.group_id(""), std::nullopt);
}

TEST(NameTable, SecondAnswerIsTheFirst) {
  NameTable names;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(names.user_name(0), "root");
    EXPECT_EQ(names.user_id(kUnknownName), std::nullopt);
  }
}

TEST(NameTable, AnswersAreRightBeyondWhatItRemembers) {
  NameTable names;
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(names.user_id(kUnknownName + std::to_string(i)), std::nullopt);
  EXPECT_EQ(names.user_id("root"), 0u);
}

TEST(NameTable, ThreadsMayShareIt) {
  NameTable names;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&names] {
      for (std::uint32_t i = 0; i < 200; ++i) {
        EXPECT_EQ(names.user_name(0), "root");
        EXPECT_EQ(names.group_name(kUnknownId + i), "");
      }
    });
  }
}

}  // namespace
}  // namespace rdcp::tree
