#include "tree/meta/names.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

namespace rdcp::tree {
namespace {

// Numbers and names that no system gives out.
constexpr std::uint32_t kNobodysId = 3'999'999'001;
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
  EXPECT_EQ(names.user_name(kNobodysId), "");
  EXPECT_EQ(names.group_name(kNobodysId), "");
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

// A directory service that is away says so by an errno, and not by finding nobody.
TEST(NameTable, ALookUpThatFailsIsToldAndNotTakenForNobody) {
  static int error = 0;
  AccountLookUps away;
  away.user_of_number = [](uid_t, passwd*, char*, size_t, passwd** found) { return *found = nullptr, error; };
  away.user_of_name = [](const char*, passwd*, char*, size_t, passwd** found) {
    return *found = nullptr, error;
  };
  away.group_of_number = [](gid_t, group*, char*, size_t, group** found) { return *found = nullptr, error; };
  away.group_of_name = [](const char*, group*, char*, size_t, group** found) {
    return *found = nullptr, error;
  };
  for (const int code : {0, ENOENT, ESRCH, EIO, EAGAIN, EMFILE, ERANGE}) {
    error = code;
    std::vector<std::string> told;
    NameTable names([&](const io::Error& failure) { told.push_back(failure.message()); }, away);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(names.user_name(7), "");
      EXPECT_EQ(names.group_name(8), "");
      EXPECT_EQ(names.user_id("alice"), std::nullopt);
      EXPECT_EQ(names.group_id("staff"), std::nullopt);
    }
    const bool is_failure = code != 0 && code != ENOENT && code != ESRCH;
    ASSERT_EQ(told.size(), is_failure ? 4u : 0u) << code;
    if (!is_failure) continue;
    EXPECT_NE(told[0].find("user 7"), std::string::npos) << told[0];
    EXPECT_NE(told[1].find("group 8"), std::string::npos) << told[1];
    EXPECT_NE(told[2].find("user alice: "), std::string::npos) << told[2];
    EXPECT_NE(told[3].find("group staff: "), std::string::npos) << told[3];
  }
}

TEST(NameTable, ThreadsMayShareIt) {
  NameTable names;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&names] {
      for (std::uint32_t i = 0; i < 200; ++i) {
        EXPECT_EQ(names.user_name(0), "root");
        EXPECT_EQ(names.group_name(kNobodysId + i), "");
      }
    });
  }
}

}  // namespace
}  // namespace rdcp::tree
