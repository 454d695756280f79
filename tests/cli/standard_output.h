// One of the standard descriptors as a pipe, for a test to see what a program would show.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "io/descriptors.h"

namespace rdcp::cli {

class Redirected {
 public:
  explicit Redirected(int fd) : fd_(fd), before_(::fcntl(fd, F_DUPFD_CLOEXEC, 3)) {
    auto pipe = io::make_pipe();
    EXPECT_TRUE(pipe);
    EXPECT_EQ(::fcntl(pipe->first.get(), F_SETFL, O_NONBLOCK), 0);
    EXPECT_EQ(::dup2(pipe->second.get(), fd), fd);
    read_ = std::move(pipe->first);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;
  ~Redirected() { ::dup2(before_.get(), fd_); }

  // What was written since the last call.
  std::string text() {
    std::string text;
    char bytes[4096];
    for (ssize_t n = 0; (n = ::read(read_.get(), bytes, sizeof bytes)) > 0;) {
      text.append(bytes, static_cast<std::size_t>(n));
    }
    return text;
  }

 private:
  const int fd_;
  const io::Fd before_;
  io::Fd read_;
};

}  // namespace rdcp::cli
