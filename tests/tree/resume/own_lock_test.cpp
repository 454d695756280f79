#include "tree/resume/own_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "io/fd.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

class OwnLockTest : public testing::Test {
 protected:
  io::Fd open() {
    return io::Fd(::open((scratch_.path() + "/file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }

  bool lock(const io::Fd& file) {
    return patience_.lock(file.get(), [this] {
      ++waits_;
      if (waits_ == let_go_after_) other_.reset();
      return waits_ != wait_no_longer_after_;
    });
  }

  ScratchDirectory scratch_;
  io::Fd other_;
  LockPatience patience_{std::chrono::hours(1)};  // never over on a machine that stands still for a moment
  int waits_ = 0;
  int let_go_after_ = -1;
  int wait_no_longer_after_ = -1;
};

TEST_F(OwnLockTest, WhatNobodyHoldsIsNotWaitedFor) {
  EXPECT_TRUE(lock(open()));
  EXPECT_EQ(waits_, 0);
}

TEST_F(OwnLockTest, WhatIsLetGoIsTaken) {
  other_ = open();
  ASSERT_EQ(::flock(other_.get(), LOCK_EX), 0);
  let_go_after_ = 2;
  EXPECT_TRUE(lock(open()));
  EXPECT_EQ(waits_, 2);
}

TEST_F(OwnLockTest, WhoMayNotWaitDoesNot) {
  other_ = open();
  ASSERT_EQ(::flock(other_.get(), LOCK_EX), 0);
  wait_no_longer_after_ = 1;
  EXPECT_FALSE(lock(open()));
  EXPECT_EQ(errno, EWOULDBLOCK);
  EXPECT_EQ(waits_, 1);
}

TEST_F(OwnLockTest, PatienceEndsOnceForAllFiles) {
  other_ = open();
  ASSERT_EQ(::flock(other_.get(), LOCK_EX), 0);
  LockPatience short_patience(std::chrono::milliseconds(50));
  const auto count = [this] { return ++waits_ > 0; };
  const io::Fd first = open();
  EXPECT_FALSE(short_patience.lock(first.get(), count));
  EXPECT_EQ(errno, EWOULDBLOCK);
  waits_ = 0;
  const io::Fd second = open();
  EXPECT_FALSE(short_patience.lock(second.get(), count));
  EXPECT_EQ(errno, EWOULDBLOCK);
  EXPECT_EQ(waits_, 0);
}

}  // namespace
}  // namespace rdcp::tree
