#include "cli/text/output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cli/standard_output.h"

namespace rdcp::cli {
namespace {

const std::string kRaw = "a\x1b]0;x\x07\tb\xc2\x9b\u202e\xff\rc\nd\n";
const std::string kSeen = "a\\x1b]0;x\\x07\tb\\xc2\\x9b\\xe2\\x80\\xae\\xff\\x0dc\nd\n";

TEST(Output, NothingDrivesTheTerminal) {
  Redirected errors(STDERR_FILENO);
  write_to_stderr(kRaw);
  EXPECT_EQ(errors.text(), kSeen);
  Redirected output(STDOUT_FILENO);
  ASSERT_TRUE(write_to_stdout(kRaw));
  EXPECT_EQ(output.text(), kSeen);
}

TEST(Output, WhatWasEscapedBeforeIsLeft) {
  Redirected errors(STDERR_FILENO);
  write_to_stderr(kSeen);
  EXPECT_EQ(errors.text(), kSeen);
}

TEST(Output, ALineIsDrawnOverTheLastOne) {
  Redirected errors(STDERR_FILENO);
  EXPECT_TRUE(draw_lines(STDERR_FILENO, {"50 % of a\x1b[2J\nb"}, 0));
  EXPECT_EQ(errors.text(), "\r50 % of a\\x1b[2J\\nb\033[K");
  EXPECT_TRUE(draw_lines(STDERR_FILENO, {""}, 1));
  EXPECT_EQ(errors.text(), "\r\033[K");
}

TEST(Output, LinesAreDrawnOverThoseOfLastTime) {
  Redirected errors(STDERR_FILENO);
  EXPECT_TRUE(draw_lines(STDERR_FILENO, {"50 %", "n1\x1b", "n2"}, 1));
  EXPECT_EQ(errors.text(), "\r50 %\033[K\n\rn1\\x1b\033[K\n\rn2\033[K\r\033[2A");
  EXPECT_TRUE(draw_lines(STDERR_FILENO, {"51 %", "n1"}, 3));
  EXPECT_EQ(errors.text(), "\r51 %\033[K\n\rn1\033[K\033[J\r\033[1A");
  EXPECT_TRUE(draw_lines(STDERR_FILENO, {""}, 2));
  EXPECT_EQ(errors.text(), "\r\033[K\033[J");
}

TEST(Output, OurOwnWordsAreWrittenAsTheyAre) {
  Redirected errors(STDERR_FILENO);
  write_own_words({"a", ": b\n"});
  EXPECT_EQ(errors.text(), "a: b\n");
}

}  // namespace
}  // namespace rdcp::cli
