#include "cli/launch/line_pipe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cli/standard_output.h"

namespace rdcp::cli {
namespace {

struct LinePipeTest : testing::Test {
  LinePipeTest() : errors(STDERR_FILENO) {
    auto started = LinePipe::start("host: ");
    EXPECT_TRUE(started);
    lines = std::move(*started);
  }
  void say(std::string_view text) {
    EXPECT_EQ(::write(lines->fd(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string shown() {
    lines->finish();
    return errors.text();
  }
  Redirected errors;
  std::unique_ptr<LinePipe> lines;
};

TEST_F(LinePipeTest, EachLineNamesWhoSaysIt) {
  say("a\nrdcp: all is well\n\nb");
  EXPECT_EQ(shown(), "host: a\nhost: rdcp: all is well\nhost: \nhost: b\n");
}

TEST_F(LinePipeTest, NothingDrivesTheTerminal) {
  say("\x1b[2Jgone\u202e\n");
  EXPECT_EQ(shown(), "host: \\x1b[2Jgone\\xe2\\x80\\xae\n");
}

TEST_F(LinePipeTest, ACarriageReturnEndsALineToo) {
  say("by ssh\r");
  say("\nhost: fake\r\r50 %\r60 %");
  EXPECT_EQ(shown(), "host: by ssh\nhost: host: fake\nhost: 50 %\nhost: 60 %\n");
}

TEST_F(LinePipeTest, ALineWithoutAnEndIsSeveral) {
  say(std::string(5000, 'x'));
  const std::string text = shown();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), 5000);
}

// As ssh's master process does (ControlPersist), and what a command leaves in the background.
TEST_F(LinePipeTest, WhoeverHoldsThePipeIsNotWaitedFor) {
  const io::Fd held(::fcntl(lines->fd(), F_DUPFD_CLOEXEC, 3));
  say("last words\n");
  lines->let_go();
  EXPECT_EQ(shown(), "host: last words\n");
}

TEST_F(LinePipeTest, ItEndsWithWhoWritesToo) {
  say("last words\n");
  lines->let_go();
  EXPECT_EQ(shown(), "host: last words\n");
}

}  // namespace
}  // namespace rdcp::cli
