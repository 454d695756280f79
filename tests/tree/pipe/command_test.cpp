#include "tree/pipe/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/tree/scratch_directory.h"
#include "tree/pipe/file_word.h"

namespace rdcp::tree {
namespace {

class CommandTest : public ::testing::Test {
 protected:
  CommandTest() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    out_.reset(ends[0]);
    in_.reset(ends[1]);
    nothing_.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  }
  static std::unique_ptr<Command> watched(io::Result<std::unique_ptr<Command>> command) {
    EXPECT_TRUE(command.ok());
    EXPECT_TRUE((*command)->watch().ok());
    return std::move(*command);
  }
  std::unique_ptr<Command> start(const std::string& text) {
    auto command = watched(Command::start(text, nothing_.get(), in_.get(), 027));
    in_.reset();
    return command;
  }
  std::string printed() {
    std::string text;
    char bytes[256];
    for (ssize_t n; (n = ::read(out_.get(), bytes, sizeof bytes)) > 0;) {
      text.append(bytes, static_cast<std::size_t>(n));
    }
    return text;
  }
  static int status_of(const Command& command) {
    pollfd ended{command.ended_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&ended, 1, 10'000), 1);
    return command.status().value_or(-1);
  }

  io::Fd out_, in_, nothing_;
};

TEST_F(CommandTest, WritesToItsOutput) {
  const auto command = start("echo a; umask");
  EXPECT_EQ(printed(), "a\n0027\n");
  EXPECT_EQ(status_of(*command), 0);
}

TEST_F(CommandTest, StatusIsTheShells) {
  EXPECT_EQ(status_of(*start("exit 7")), 7);
  const auto status_of_text = [this](const char* text) {
    return status_of(*watched(Command::start(text, nothing_.get(), nothing_.get(), 0)));
  };
  EXPECT_EQ(status_of_text("exec /no/such 2>/dev/null"), 127);
  EXPECT_EQ(status_of_text("kill -9 $$"), 137);
}

TEST_F(CommandTest, OneThatIsNotWatchedIsKilledInTheEnd) {
  auto command = Command::start("sleep 1000 & trap '' TERM; sleep 1000", nothing_.get(), in_.get(), 0);
  ASSERT_TRUE(command.ok());
  in_.reset();
  command->reset();
  EXPECT_EQ(printed(), "");  // to the end: nobody holds the pipe any more
}

TEST_F(CommandTest, SignalsAreAsAtALogin) {
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(status_of(*start("kill -PIPE $$; exit 3")), 128 + SIGPIPE);
}

TEST_F(CommandTest, EndTakesTheWholeGroupWithIt) {
  const auto command = start("sleep 1000 & echo started; trap '' TERM; sleep 1000; sleep 1000");
  char first = 0;
  ASSERT_EQ(::read(out_.get(), &first, 1), 1);
  command->end(std::chrono::milliseconds(50));
  EXPECT_EQ(printed(), "tarted\n");  // to the end: nobody holds the pipe any more
  EXPECT_TRUE(command->status());
}

TEST_F(CommandTest, WhatIsLetGoLivesOn) {
  auto command = start("sleep 1000 > /dev/null & echo $!");
  EXPECT_EQ(status_of(*command), 0);
  command->let_go();
  command.reset();
  std::string pid;
  for (char c; ::read(out_.get(), &c, 1) == 1 && c != '\n';) pid += c;
  EXPECT_EQ(::kill(std::stoi(pid), 0), 0);
  ::kill(std::stoi(pid), SIGKILL);
}

// An agent of its own process that is killed while its command runs: sees to `text`, whose input it feeds.
void start_and_be_killed(const std::string& text, int output) {
  int feed[2];
  ASSERT_EQ(::pipe2(feed, O_CLOEXEC), 0);
  const pid_t agent = ::fork();
  if (agent == 0) {
    const auto command = Command::start(text, feed[0], output, 0, feed[1]);
    ::raise(SIGKILL);
  }
  ::close(feed[0]);
  ::close(feed[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(agent, &status, 0), agent);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST_F(CommandTest, AKilledAgentTakesTheWholeGroupWithIt) {
  start_and_be_killed("sleep 1000 & trap '' TERM; sleep 1000; sleep 1000", in_.get());
  in_.reset();
  EXPECT_EQ(printed(), "");  // to the end: nobody holds the pipe any more
}

TEST_F(CommandTest, AKilledAgentIsNoEndOfTheInput) {
  start_and_be_killed("trap '' TERM; cat; echo all of it; sleep 1000", in_.get());
  in_.reset();
  EXPECT_EQ(printed(), "");
}

TEST_F(CommandTest, TheEndOfTheInputIsTheCallersToGive) {
  int feed[2];
  ASSERT_EQ(::pipe2(feed, O_CLOEXEC), 0);
  io::Fd read_end(feed[0]);
  io::Fd write_end(feed[1]);
  const auto command = watched(Command::start("cat", read_end.get(), in_.get(), 0, write_end.get()));
  in_.reset();
  ASSERT_EQ(::write(write_end.get(), "abc", 3), 3);
  command->end_input();
  write_end.reset();
  EXPECT_EQ(printed(), "abc");
  EXPECT_EQ(status_of(*command), 0);
}

TEST(FileOfWord, PlainOnesAsTheyAre) {
  EXPECT_EQ(*file_of_word("a/b-c_1.x", 0), "a/b-c_1.x");
}

TEST(FileOfWord, OthersByTheShell) {
  EXPECT_EQ(*file_of_word("'a b'", 0), "a b");
  EXPECT_EQ(*file_of_word("a\\$b", 0), "a$b");
  EXPECT_NE(*file_of_word("~", 0), "~");
}

TEST(FileOfWord, MustBeOne) {
  for (const char* word : {"a b", "''", "a; echo b", "$(exit 1)"})
    EXPECT_FALSE(file_of_word(word, 0)) << word;
}

}  // namespace
}  // namespace rdcp::tree
