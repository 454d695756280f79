// Targets may pass on to several others, so that they are a tree.
#include <sys/resource.h>

#include <atomic>
#include <filesystem>

#include "tests/tree/forward/chain_test.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::ElementsAre;

using TreeOfTargets = ChainTest;

TEST_F(TreeOfTargets, EveryTargetGetsTheWholeTree) {
  make_tree();
  for (const std::size_t fanout : {2u, 3u, 16u}) {
    ChainCase wanted = chain_of(8);
    for (std::string& destination : wanted.destinations) destination += std::to_string(fanout);
    wanted.fanout = fanout;
    const ChainResult result = Chain(wanted, heard).run();
    EXPECT_TRUE(result.source.complete);
    EXPECT_THAT(result.told, Each(""));
    EXPECT_THAT(result.proven, Each(true));
    EXPECT_THAT(result.missing, Each(0u));
    expect_all_equal(wanted);
  }
}

TEST_F(TreeOfTargets, AMirrorBringsAllBranchesToTheSame) {
  make_tree();
  ChainCase wanted = chain_of(6);
  wanted.fanout = 2;
  Chain(wanted, heard).run();
  fs::remove(wanted.destinations[4] + "/deep/s5");
  write_file(wanted.destinations[2] + "/deep/er/large2", "another");
  write_file(wanted.destinations[5] + "/extra", "extra");
  SyncSettings& sync = wanted.settings.sync;
  sync.enabled = sync.mirror = sync.delete_extra = true;
  const ChainResult result = Chain(wanted, heard).run();
  EXPECT_TRUE(result.source.complete);
  EXPECT_THAT(result.proven, Each(true));
  expect_all_equal(wanted);
}

// Target 1 passes on to 3 and 4.
TEST_F(TreeOfTargets, WhatAHopChangesIsFoundOutInItsBranchOnly) {
  make_tree();
  ChainCase wanted = chain_of(7);
  wanted.fanout = 2;
  wanted.taps.resize(2);
  wanted.taps[1] = [](net::Frame& frame, std::span<std::byte> payload) {
    if (frame.kind != net::FrameKind::data || frame.offset != 0) return true;
    payload[0] ^= std::byte{1};
    frame.digest = io::digest_of(payload);
    return true;
  };
  EXPECT_THAT(Chain(wanted, heard).run().proven, ElementsAre(true, false, true, false, false, true, true));
}

TEST_F(TreeOfTargets, ABranchThatIsLostHoldsNoOther) {
  make_tree();
  ChainCase wanted = chain_of(7);
  wanted.fanout = 2;
  wanted.ledger = false;
  std::atomic<int> frames{0};
  Chain* running = nullptr;
  wanted.taps.resize(2);
  wanted.taps[1] = [&](net::Frame&, std::span<std::byte>) {
    if (++frames == 12) running->cut_behind(0, 0);
    return true;
  };
  Chain cut(wanted, heard);
  running = &cut;
  const ChainResult result = cut.run();
  EXPECT_TRUE(result.source.complete);
  const std::string all = listing(scratch / "from");
  for (const std::size_t whole : {0u, 2u, 5u, 6u}) {
    EXPECT_TRUE(result.targets[whole].complete);
    EXPECT_EQ(listing(wanted.destinations[whole]), all);
  }
  for (const std::size_t behind : {1u, 3u, 4u}) EXPECT_FALSE(result.targets[behind].complete);
}

// Each has its own threads, rings and slots, as on a host of its own.
TEST_F(TreeOfTargets, AThousandTargetsGetAll) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  constexpr rlim_t kFilesOfTarget = 16;
  constexpr std::size_t kTargets = 1000;
  if (files.rlim_max < kTargets * kFilesOfTarget) GTEST_SKIP() << "this account may not open so many files";
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  fs::create_directories(scratch / "from/deep");
  for (int i = 0; i < 3; ++i)
    write_file(scratch / ("from/deep/s" + std::to_string(i)), test_bytes(200 + i * 7, i));
  write_file(scratch / "from/large", test_bytes(100'000, 9));
  ChainCase wanted = chain_of(kTargets);
  wanted.fanout = 3;
  wanted.streams = 1;
  wanted.chunk_bytes = 16 << 10;
  const ChainResult result = Chain(wanted, heard).run();
  EXPECT_TRUE(result.source.complete);
  EXPECT_THAT(result.told, Each(""));
  EXPECT_THAT(result.proven, Each(true));
  expect_all_equal(wanted);
}

}  // namespace
}  // namespace rdcp::tree
