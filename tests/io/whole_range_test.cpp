#include "io/whole_range.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "io/fd.h"
#include "io/retry.h"

namespace rdcp::io {
namespace {

TEST(RetryEintr, OnlyAnInterruptedCallIsMadeAgain) {
  int calls = 0;
  const auto fails_with = [&](int code) {
    calls = 0;
    return retry_eintr([&, code] {
      errno = ++calls < 3 ? EINTR : code;
      return calls < 3 || code != 0 ? -1 : 7;
    });
  };
  EXPECT_EQ(fails_with(0), 7);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(fails_with(EAGAIN), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(calls, 3);
}

TEST(RetryEintr, OtherErrorsAreReturnedAtOnce) {
  int calls = 0;
  EXPECT_EQ(retry_eintr([&] { return ++calls, errno = EIO, -1; }), -1);
  EXPECT_EQ(calls, 1);
}

TEST(WholeRange, WhatIsWrittenIsReadAndTheEndCutsARange) {
  const Fd file(::memfd_create("whole_range", MFD_CLOEXEC));
  const std::string text = "0123456789";
  ASSERT_EQ(write_range(file.get(), std::as_bytes(std::span(text)), 5), 0);
  std::string read(20, 'x');
  const auto into = std::as_writable_bytes(std::span(read));
  EXPECT_EQ(read_range(file.get(), into.first(4), 7), 4);
  EXPECT_EQ(read.substr(0, 5), "2345x");
  EXPECT_EQ(read_range(file.get(), into, 5), 10);
  EXPECT_EQ(read.substr(0, 11), text + "x");
  EXPECT_EQ(read_range(file.get(), into, 15), 0);
}

TEST(WholeRange, AFailureKeepsItsErrno) {
  std::byte byte{};
  EXPECT_EQ(read_range(-1, {&byte, 1}, 0), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(write_range(-1, {&byte, 1}, 0), EBADF);
}

// A full device takes a part of what is written, and refuses the rest.
TEST(WholeRange, APartThatWasWrittenIsNoSuccess) {
  const Fd file(::memfd_create("whole_range", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  ASSERT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW), 0);
  const std::string text(8192, 'y');
  EXPECT_EQ(write_range(file.get(), std::as_bytes(std::span(text)), 0), EPERM);
}

}  // namespace
}  // namespace rdcp::io
