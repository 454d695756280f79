#include "io/frame_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>

#include "io/step.h"
#include "io/task.h"

namespace rdcp::io {
namespace {

TEST(FramePool, AFrameThatWasGivenBackIsUsedAgain) {
  void* first = take_frame(300);
  give_back_frame(first, 300);
  void* second = take_frame(290);  // the same size class
  EXPECT_EQ(first, second);
  give_back_frame(second, 290);
}

TEST(FramePool, FramesThatLiveAtOnceAreNotTheSame) {
  std::set<void*> frames;
  for (int i = 0; i < 8; ++i) {
    void* frame = take_frame(200);
    std::memset(frame, i, 200);
    frames.insert(frame);
  }
  EXPECT_EQ(frames.size(), 8u);
  for (void* frame : frames) give_back_frame(frame, 200);
}

TEST(FramePool, SizesAreKeptApart) {
  void* small = take_frame(100);
  give_back_frame(small, 100);
  void* large = take_frame(3000);
  EXPECT_NE(small, large);
  std::memset(large, 1, 3000);
  give_back_frame(large, 3000);
}

TEST(FramePool, AFrameOfAnySizeIsWhole) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{128}, std::size_t{129}, std::size_t{4096},
                                  std::size_t{4097}, std::size_t{100'000}}) {
    void* frame = take_frame(bytes);
    std::memset(frame, 7, bytes);
    give_back_frame(frame, bytes);
  }
}

// A thread's frames are freed with it: LeakSanitizer would tell.
TEST(FramePool, AThreadLeavesNothing) {
  std::thread([] { give_back_frame(take_frame(500), 500); }).join();
}

Step<int> twice(int value) {
  co_return 2 * value;
}

TEST(Step, GivesItsResult) {
  int result = 0;
  Task task = [](int& into) -> Task {
    for (int i = 0; i < 3; ++i) {
      const int part = co_await twice(i);
      into += part;
    }
  }(result);
  task.start();
  EXPECT_TRUE(task.done());
  EXPECT_EQ(result, 6);
}

}  // namespace
}  // namespace rdcp::io
