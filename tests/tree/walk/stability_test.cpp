#include "tree/walk/stability.h"

#include <gtest/gtest.h>

#include <ctime>

namespace rdcp::tree {
namespace {

struct stat with_mtime(time_t seconds, long nanoseconds = 0) {
  struct stat status {};
  status.st_mtim = {seconds, nanoseconds};
  return status;
}

time_t torn(const struct stat& found, const struct stat& now, std::uint32_t window_s = 0) {
  SyncSettings sync;
  sync.modify_window_s = window_s;
  return torn_mtime(found, now, sync).tv_sec;
}

TEST(Stability, ALookSeesEveryWrite) {
  struct stat before = with_mtime(100, 5);
  before.st_size = 7;
  struct stat after = before;
  EXPECT_TRUE(unchanged(before, after));
  after.st_ctim.tv_nsec = 1;  // mtime was set back
  EXPECT_FALSE(unchanged(before, after));
  after = before;
  after.st_size = 8;
  EXPECT_FALSE(unchanged(before, after));
  after = before;
  after.st_ino = 1;
  EXPECT_FALSE(unchanged(before, after));
}

TEST(Stability, ATornCopyHasTheMtimeThatTheFileWasFoundWith) {
  const timespec kept = torn_mtime(with_mtime(1000, 77), with_mtime(2000), {});
  EXPECT_EQ(kept.tv_sec, 1000);
  EXPECT_EQ(kept.tv_nsec, 77);
}

TEST(Stability, ATornCopyNeverHasTheMtimeOfTheFileHoweverCoarselyItIsStored) {
  for (const time_t now : {time_t{1000}, time_t{1001}}) {
    EXPECT_LT(torn(with_mtime(1000, 1), with_mtime(now, 500)), 1000 - 2);
  }
  EXPECT_LT(torn(with_mtime(1000), with_mtime(500)), 500 - 2) << "set back further than it was";
  EXPECT_LT(torn(with_mtime(1000), with_mtime(1060), 60), 1000 - 60) << "--modify-window";
  EXPECT_EQ(torn(with_mtime(1000), with_mtime(1062), 60), 1000);
}

TEST(Stability, ATickThatIsUnderWayIsWaitedFor) {
  struct stat just_now {};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &just_now.st_ctim);
  wait_for_next_tick(just_now);
  timespec after{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &after);
  EXPECT_NE(after.tv_nsec, just_now.st_ctim.tv_nsec);
}

TEST(Stability, AnotherHostsClockIsNotWaitedFor) {
  struct stat ahead {};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &ahead.st_ctim);
  ahead.st_ctim.tv_sec += 3600;
  timespec before{}, after{};
  ::clock_gettime(CLOCK_MONOTONIC, &before);
  for (int i = 0; i < 1000; ++i) wait_for_next_tick(ahead);
  ::clock_gettime(CLOCK_MONOTONIC, &after);
  EXPECT_LE(after.tv_sec - before.tv_sec, 1);
}

}  // namespace
}  // namespace rdcp::tree
