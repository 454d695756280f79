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
  EXPECT_TRUE(draw_line(STDERR_FILENO, "50 % of a\x1b[2J\nb"));
  EXPECT_EQ(errors.text(), "\r50 % of a\\x1b[2J\\nb\033[K");
  EXPECT_TRUE(draw_line(STDERR_FILENO, ""));
  EXPECT_EQ(errors.text(), "\r\033[K");
}

TEST(Output, OurOwnWordsAreWrittenAsTheyAre) {
  Redirected errors(STDERR_FILENO);
  write_own_words({"a", ": b\n"});
  EXPECT_EQ(errors.text(), "a: b\n");
}

}  // namespace
}  // namespace rdcp::cli
