#include "tree/session/target_file.h"

#include <gtest/gtest.h>

namespace rdcp::tree {
namespace {

TEST(TargetFileTest, WhatTheSourceWasToldIsMissingUntilItHasCome) {
  TargetFile file;
  EXPECT_FALSE(file.lacks_before(100));
  EXPECT_TRUE(file.want({10, 20}));
  EXPECT_TRUE(file.lacks_before(100));
  file.add(10, 10, io::Digest{});
  EXPECT_TRUE(file.lacks_before(100));
  EXPECT_FALSE(file.lacks_before(20));  // a file that has become shorter
  file.have({20, 10});
  EXPECT_FALSE(file.lacks_before(100));
}

TEST(TargetFileTest, MoreThanASourceAsksAboutAtATimeIsTooMuch) {
  TargetFile file;
  for (std::uint64_t i = 0; i < TargetFile::kMissingMost; ++i) ASSERT_TRUE(file.want({2 * i, 1}));
  EXPECT_FALSE(file.want({2 * TargetFile::kMissingMost, 1}));
  EXPECT_TRUE(file.want({0, 2 * TargetFile::kMissingMost + 1}));  // they touch each other now
}

}  // namespace
}  // namespace rdcp::tree
