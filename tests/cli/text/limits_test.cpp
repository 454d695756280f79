#include "cli/text/limits.h"

#include <gtest/gtest.h>

namespace rdcp::cli {
namespace {

tree::Done copied(std::uint64_t bytes) {
  tree::Done done;
  done.bytes = bytes;
  return done;
}

constexpr CopyRun kTwoSeconds{.seconds = 2, .workers = 1, .slots = 4};

TEST(LimitedBy, NamesTheBusiestStage) {
  tree::Done source = copied(4'000'000'000), target = copied(0);
  target.times.write_busy_ns = 1'900'000'000;
  source.times.read_busy_ns = 300'000'000;
  EXPECT_EQ(limited_by(source, target, kTwoSeconds), "target writes (2.00 GB/s)");
}

TEST(LimitedBy, NamesTheUsersLimitWhereTheCopyReachesIt) {
  tree::Done source = copied(200'000'000);
  source.times.read_busy_ns = 1'900'000'000;
  CopyRun run = kTwoSeconds;
  run.bytes_per_second = 100'000'000;
  EXPECT_EQ(limited_by(source, {}, run), "--bwlimit (100.00 MB/s)");
  run.bytes_per_second = 1'000'000'000;
  EXPECT_EQ(limited_by(source, {}, run), "source reads (100.00 MB/s)");
}

TEST(LimitedBy, CountsWhatWasSent) {
  tree::Done source = copied(4'000'000'000);
  source.kept_bytes = 3'000'000'000;
  source.times.read_busy_ns = 1'900'000'000;
  EXPECT_EQ(limited_by(source, {}, kTwoSeconds), "source reads (500.00 MB/s)");
}

TEST(LimitedBy, SaysNothingOfShortOrEmptyCopies) {
  tree::Done source = copied(4'000'000'000);
  source.times.read_busy_ns = 900'000'000;
  CopyRun run = kTwoSeconds;
  run.seconds = 0.99;
  EXPECT_EQ(limited_by(source, {}, run), "");
  EXPECT_EQ(limited_by(copied(0), {}, kTwoSeconds), "");
  source.kept_bytes = source.bytes;
  EXPECT_EQ(limited_by(source, {}, kTwoSeconds), "");
}

}  // namespace
}  // namespace rdcp::cli
