#include "io/write_all.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

#include "io/fd.h"

namespace rdcp::io {
namespace {

struct FullPipe {
  Fd read;
  Fd write;

  // Non-blocking on both sides, as who shares a descriptor may leave it.
  FullPipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
    const std::string page(4096, 'x');
    while (::write(write.get(), page.data(), page.size()) > 0) {
    }
  }
  std::size_t drain(std::size_t wanted) const {
    std::array<char, 4096> bytes{};
    std::size_t got = 0;
    while (got < wanted) {
      const long n = read_some(read.get(), bytes.data(), bytes.size());
      if (n <= 0) return got;
      got += static_cast<std::size_t>(n);
    }
    return got;
  }
};

TEST(WriteAll, AFullPipeThatDoesNotBlockIsWaitedFor) {
  FullPipe pipe;
  const auto before = static_cast<std::size_t>(::fcntl(pipe.write.get(), F_GETPIPE_SZ));
  const std::string text(300'000, 'y');
  std::size_t got = 0;
  std::thread reader([&] { got = pipe.drain(before + text.size()); });
  EXPECT_EQ(write_all(pipe.write.get(), text), 0);
  reader.join();
  EXPECT_EQ(got, before + text.size());
}

TEST(WriteAll, SaysOnceThatItWaits) {
  FullPipe pipe;
  int told = 0;
  std::thread reader;
  const WriteWait wait{.before =
                           [&] {
                             ++told;
                             reader = std::thread([&] { pipe.drain(200'000); });
                           },
                       .give_up = {}};
  EXPECT_EQ(write_all(pipe.write.get(), std::string(200'000, 'y'), wait), 0);
  pipe.write.reset();
  reader.join();
  EXPECT_EQ(told, 1);
}

TEST(WriteAll, GivesUpWhenItIsToldTo) {
  FullPipe pipe;
  EXPECT_EQ(write_all(pipe.write.get(), "y", {.before = {}, .give_up = [] { return true; }}), ECANCELED);
}

// A pipe that does block must not be stuck in, either.
TEST(WriteAll, GivesUpABlockingPipe) {
  FullPipe pipe;
  ASSERT_EQ(::fcntl(pipe.write.get(), F_SETFL, 0), 0);
  EXPECT_EQ(write_all(pipe.write.get(), "y", {.before = {}, .give_up = [] { return true; }}), ECANCELED);
}

TEST(WriteAll, TellsAnError) {
  FullPipe pipe;
  pipe.read.reset();
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(write_all(pipe.write.get(), "y"), EPIPE);
  EXPECT_EQ(write_all(-1, "y"), EBADF);
}

TEST(ReadSome, WaitsForSomethingToRead) {
  FullPipe pipe;
  const auto before = static_cast<std::size_t>(::fcntl(pipe.write.get(), F_GETPIPE_SZ));
  ASSERT_EQ(pipe.drain(before), before);
  char byte = 0;
  std::thread writer([&] { EXPECT_EQ(write_all(pipe.write.get(), "z"), 0); });
  EXPECT_EQ(read_some(pipe.read.get(), &byte, 1), 1);
  writer.join();
  EXPECT_EQ(byte, 'z');
}

TEST(WriteAll, ADescriptorThatAcceptsNothingIsGivenUpAtTheLimit) {
  FullPipe pipe;
  EXPECT_EQ(write_all(pipe.write.get(), "y", {.limit = std::chrono::milliseconds(1)}), ETIMEDOUT);
}

TEST(WriteAll, TheLimitIsForEachWaitAndNotForAllOfTheText) {
  FullPipe pipe;
  const auto before = static_cast<std::size_t>(::fcntl(pipe.write.get(), F_GETPIPE_SZ));
  const std::string text(300'000, 'y');
  std::size_t got = 0;
  std::thread reader([&] { got = pipe.drain(before + text.size()); });
  EXPECT_EQ(write_all(pipe.write.get(), text, {.limit = std::chrono::seconds(60)}), 0);
  reader.join();
  EXPECT_EQ(got, before + text.size());
}

}  // namespace
}  // namespace rdcp::io
