// A test of what holds for both backends.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "io/fd.h"
#include "io/ring.h"
#include "tests/io/run_task.h"

namespace rdcp::io {

using std::chrono::milliseconds;

inline constexpr unsigned kDepth = 4;

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
  Fd out;
  Fd in;
};

class RingTest : public testing::TestWithParam<RingChoice> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Ring>> made = make_ring(GetParam(), kDepth);
    if (!made.ok() && GetParam() == RingChoice::io_uring) GTEST_SKIP() << made.error().message();
    ASSERT_TRUE(made.ok()) << made.error().message();
    ring_ = std::move(made).value();
  }

  IoResult read(const RingFile& file, std::span<std::byte> into, std::uint64_t offset) {
    Operation operation = ring_->read(file, into, offset);
    return run_operation(*ring_, operation);
  }
  IoResult write(const RingFile& file, std::span<const std::byte> from, std::uint64_t offset) {
    Operation operation = ring_->write(file, from, offset);
    return run_operation(*ring_, operation);
  }

  std::unique_ptr<Ring> ring_;
};

inline std::string backend_name(const testing::TestParamInfo<RingChoice>& backend) {
  return backend.param == RingChoice::io_uring ? "IoUring" : "ThreadPool";
}

// Counts in `running` while the operation is under way.
inline Task move_bytes(Operation& operation, IoResult& result, int& running) {
  ++running;
  result = co_await operation;
  --running;
}

}  // namespace rdcp::io
