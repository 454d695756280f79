// What an operation makes of the results of its system calls.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>

#include "io/arena.h"
#include "io/ring.h"

namespace rdcp::io {
namespace {

// Never asked for anything here.
class IdleRing final : public Ring {
 public:
  std::string description() const override { return "idle"; }
  void register_arena(std::span<std::byte>) override {}
  int attach(int) override { return -1; }
  void detach(int) override {}

 protected:
  void submit(Operation&) override {}
  Result<void> wait(Clock::duration) override { return {}; }
};

class OperationTest : public testing::Test {
 protected:
  Operation read(const RingFile& file) { return ring_.read(file, buffer_, 4096); }
  Operation write(const RingFile& file) { return ring_.write(file, buffer_, 4096); }

  IdleRing ring_;
  std::array<std::byte, 4 * kPageBytes> buffer_{};
};

const RingFile kBuffered = {};
const RingFile kDirect = {.direct = true};

TEST_F(OperationTest, ShortResultsMoveOn) {
  Operation operation = read(kBuffered);
  EXPECT_FALSE(operation.advance(100));
  EXPECT_EQ(operation.rest(), buffer_.data() + 100);
  EXPECT_EQ(operation.rest_bytes(), buffer_.size() - 100);
  EXPECT_EQ(operation.rest_offset(), 4196U);
  EXPECT_TRUE(operation.advance(static_cast<long>(buffer_.size()) - 100));
  EXPECT_EQ(operation.await_resume().bytes, buffer_.size());
}

TEST_F(OperationTest, NoOffsetStaysNoOffset) {
  Operation operation = ring_.read(kBuffered, buffer_, kNoOffset);
  EXPECT_FALSE(operation.advance(100));
  EXPECT_EQ(operation.rest_offset(), kNoOffset);
}

TEST_F(OperationTest, InterruptedCallsAreMadeAgain) {
  Operation operation = read(kBuffered);
  EXPECT_FALSE(operation.advance(-EINTR));
  EXPECT_EQ(operation.kind(), Operation::Kind::read);
  EXPECT_EQ(operation.rest_bytes(), buffer_.size());
}

TEST_F(OperationTest, WhatWouldBlockIsPolledFirst) {
  Operation reading = read(kBuffered);
  EXPECT_FALSE(reading.advance(-EAGAIN));
  EXPECT_EQ(reading.kind(), Operation::Kind::poll);
  EXPECT_EQ(reading.events(), POLLIN);
  EXPECT_FALSE(reading.advance(POLLIN));
  EXPECT_EQ(reading.kind(), Operation::Kind::read);
  EXPECT_EQ(reading.rest_bytes(), buffer_.size());
  Operation writing = write(kBuffered);
  EXPECT_FALSE(writing.advance(-EAGAIN));
  EXPECT_EQ(writing.events(), POLLOUT);
}

TEST_F(OperationTest, ErrorsEndItAndKeepWhatIsDone) {
  Operation operation = read(kBuffered);
  EXPECT_FALSE(operation.advance(100));
  EXPECT_TRUE(operation.advance(-EIO));
  EXPECT_EQ(operation.await_resume().bytes, 100U);
  EXPECT_EQ(operation.await_resume().error, EIO);
}

TEST_F(OperationTest, AWriteOfNothingIsAnErrorAndNotTriedForEver) {
  Operation operation = write(kBuffered);
  EXPECT_TRUE(operation.advance(0));
  EXPECT_EQ(operation.await_resume().error, EIO);
}

TEST_F(OperationTest, DirectReadThatEndsWithinABlockIsTheEndOfTheFile) {
  Operation operation = read(kDirect);
  EXPECT_TRUE(operation.advance(kPageBytes + 100));
  EXPECT_EQ(operation.await_resume().bytes, kPageBytes + 100);
  EXPECT_EQ(operation.await_resume().error, 0);
}

TEST_F(OperationTest, DirectTransfersGoOnFromAPageBoundary) {
  Operation reading = read(kDirect);
  EXPECT_FALSE(reading.advance(2 * kPageBytes + 512));
  EXPECT_EQ(reading.rest(), buffer_.data() + 2 * kPageBytes);
  EXPECT_EQ(reading.rest_offset(), 4096 + 2 * kPageBytes);
  EXPECT_TRUE(reading.advance(512)) << "the same half page again: the file ends there";
  EXPECT_EQ(reading.await_resume().bytes, 2 * kPageBytes + 512);
  Operation writing = write(kDirect);
  EXPECT_FALSE(writing.advance(kPageBytes + 512));
  EXPECT_EQ(writing.rest_bytes(), 3 * kPageBytes);
}

TEST_F(OperationTest, DirectWriteOfLessThanAPageIsAnError) {
  Operation operation = write(kDirect);
  EXPECT_TRUE(operation.advance(512));
  EXPECT_EQ(operation.await_resume().error, EIO);
}

}  // namespace
}  // namespace rdcp::io
