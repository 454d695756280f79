// What a source sends reaches every target of a chain, whatever happens at one of them.
#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "tests/tree/forward/chain_test.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using net::FrameKind;
using testing::Each;

TEST_F(ChainTest, EveryTargetGetsTheWholeTree) {
  make_tree();
  for (const std::size_t targets : {1u, 2u, 5u}) {
    ChainCase chain = chain_of(targets);
    for (std::string& destination : chain.destinations) destination += std::to_string(targets);
    const ChainResult result = Chain(chain, heard).run();
    EXPECT_TRUE(result.source.complete);
    for (const Done& done : result.targets) EXPECT_TRUE(done.complete);
    for (const std::string& told : result.told) EXPECT_EQ(told, "");
    EXPECT_EQ(heard.text(), "");
    expect_all_equal(chain);
    EXPECT_THAT(result.proven, Each(true));
    EXPECT_THAT(result.missing, Each(0u));
  }
}

// The third one's answers are late, so the two before wait for it.
TEST_F(ChainTest, EachTargetTellsWhatItWasBusyWith) {
  make_tree();
  ChainCase chain = chain_of(3);
  chain.taps.resize(3);
  chain.taps[2] = [](net::Frame&, std::span<std::byte>) {
    const auto later = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (std::chrono::steady_clock::now() < later) std::this_thread::yield();
    return true;
  };
  const ChainResult result = Chain(chain, heard).run();
  ASSERT_EQ(result.paces.size(), 3u);
  for (const Pace& pace : result.paces) {
    EXPECT_EQ(pace.bytes, result.paces[0].bytes);
    EXPECT_GT(pace.bytes, 1'500'000u);
    EXPECT_GT(pace.handling_us, 0u);
    EXPECT_LE(pace.handling_us, pace.clock_us);
    EXPECT_GE(pace.handling_slots_us, pace.handling_us);
    EXPECT_EQ(pace.slots, 0u);  // its workers have ended
  }
  EXPECT_GT(result.paces[0].waiting_slots_us, 0u);
  EXPECT_GT(result.paces[1].waiting_slots_us, 0u);
  EXPECT_EQ(result.paces[2].waiting_slots_us, 0u);
}

// One hop changes a chunk of each kind, with a digest that fits, so that nobody behind it finds fault.
TEST_F(ChainTest, AHopThatChangesWhatItPassesOnIsFoundOut) {
  make_tree();
  for (const FrameKind kind : {FrameKind::data, FrameKind::archive, FrameKind::commit}) {
    ChainCase chain = chain_of(3);
    for (std::string& destination : chain.destinations) destination += std::to_string(int(kind));
    std::atomic<int> met{0};
    chain.taps.resize(2);
    chain.taps[1] = [&](net::Frame& frame, std::span<std::byte> payload) {
      if (frame.kind != kind || met++ != 0) return true;
      payload.back() ^= std::byte{1};
      frame.digest = io::digest_of(payload);
      return true;
    };
    const ChainResult result = Chain(chain, heard).run();
    EXPECT_GT(met, 0);
    EXPECT_THAT(result.proven, testing::ElementsAre(true, false, false)) << int(kind);
    EXPECT_EQ(listing(chain.destinations[0]), listing(scratch / "from"));
  }
}

TEST_F(ChainTest, AHopThatSendsTheBytesOfOneFileToAnotherIsFoundOut) {
  make_tree();
  ChainCase chain = chain_of(2);
  std::atomic<int> met{0};
  chain.taps.resize(2);
  chain.taps[1] = [&](net::Frame& frame, std::span<std::byte>) {
    if (frame.kind == FrameKind::data && met++ == 0) frame.offset ^= 4096;
    return true;
  };
  const ChainResult result = Chain(chain, heard).run();
  EXPECT_THAT(result.proven, testing::ElementsAre(true, false));
}

TEST_F(ChainTest, WithVerifyEachTargetReadsBackWhatItPassesOn) {
  make_tree();
  ChainCase chain = chain_of(3);
  chain.settings.verify = true;
  const ChainResult result = Chain(chain, heard).run();
  EXPECT_TRUE(result.source.complete);
  expect_all_equal(chain);
}

// The digest is checked at each hop, and the hop before sends the chunk again.
TEST_F(ChainTest, AChunkThatIsDamagedOnAnyHopIsSentAgainByTheHopBefore) {
  make_tree();
  for (std::size_t hop = 0; hop < 3; ++hop) {
    ChainCase chain = chain_of(3);
    for (std::string& destination : chain.destinations) destination += std::to_string(hop);
    EachOnce damaged;
    chain.taps.resize(hop + 1);
    chain.taps[hop] = [&](net::Frame& frame, std::span<std::byte> payload) {
      if (!payload.empty() && damaged.is_new(frame)) payload.front() ^= std::byte{1};
      return true;
    };
    const ChainResult result = Chain(chain, heard).run();
    EXPECT_TRUE(result.source.complete);
    EXPECT_GT(damaged.count(), 10u);
    EXPECT_EQ(result.source.resent_chunks > 0, hop == 0);
    expect_all_equal(chain);
  }
}

// Two names are taken by directories at the second target: a small file's and a large one's, which is linked
// to.
TEST_F(ChainTest, WhatOneTargetCannotPutReachesTheOthers) {
  make_tree();
  const ChainCase chain = chain_of(4);
  for (const char* taken : {"host2/to/deep/s7/full", "host2/to/deep/er/large1/full"})
    fs::create_directories(scratch / taken);
  for (const char* other : {"host1/to", "host3/to", "host4/to"}) fs::create_directories(scratch / other);
  const ChainResult result = Chain(chain, heard).run();
  EXPECT_TRUE(result.source.complete);
  const std::string wanted = listing(scratch / "from");
  for (const char* other : {"host1/to", "host3/to", "host4/to"}) EXPECT_EQ(listing(scratch / other), wanted);
  EXPECT_THAT(result.told[1], testing::HasSubstr("deep/s7"));
  EXPECT_THAT(result.told[1], testing::HasSubstr("deep/er/large1"));
  EXPECT_EQ(result.told[0] + result.told[2] + result.told[3], "");
  EXPECT_EQ(content_of(scratch / "host2/to/deep/er/large2"), content_of(scratch / "from/deep/er/large2"));
  EXPECT_TRUE(fs::is_directory(scratch / "host2/to/deep/s7/full"));
}

TEST_F(ChainTest, WhatEveryTargetRefusesIsRefused) {
  make_tree();
  const ChainCase chain = chain_of(2);
  for (const char* taken : {"host1/to/deep/er/large1/full", "host2/to/deep/er/large1/full"}) {
    fs::create_directories(scratch / taken);
  }
  const ChainResult result = Chain(chain, heard).run();
  for (const std::string& told : result.told) EXPECT_THAT(told, testing::HasSubstr("deep/er/large1"));
  for (const std::string& destination : chain.destinations) {
    EXPECT_EQ(content_of(destination + "/deep/er/large2"), content_of(scratch / "from/deep/er/large2"));
  }
}

TEST_F(ChainTest, ATargetWhoseDiskIsFullGoesOnPassingOn) {
  make_tree();
  const ChainCase chain = chain_of(3);
  for (const char* name : {"host1/to", "host2/to", "host3/to"}) fs::create_directory(scratch / name);
  const ScopedMount full(scratch / "host2/to", "tmpfs", 0, "size=400k");
  if (!full) GTEST_SKIP() << "cannot mount: not root";
  const ChainResult result = Chain(chain, heard).run();
  EXPECT_TRUE(result.source.complete);
  const std::string wanted = listing(scratch / "from");
  EXPECT_EQ(listing(scratch / "host1/to"), wanted);
  EXPECT_EQ(listing(scratch / "host3/to"), wanted);
  EXPECT_THAT(result.told[1], testing::HasSubstr("No space left"));
  EXPECT_FALSE(result.targets[1].complete);
}

// The first has all, the second lacks some and has too much, the third has nothing.
TEST_F(ChainTest, AMirrorBringsTargetsInDifferentStatesToTheSame) {
  make_tree();
  ChainCase chain = chain_of(3);
  fs::create_directories(scratch / "host3/to");
  Chain({.sources = chain.sources, .destinations = {scratch / "host1/to", scratch / "host2/to"}}, heard)
      .run();
  fs::remove_all(scratch / "host2/to/deep/er");
  write_file(scratch / "host2/to/deep/s5", "other");
  write_file(scratch / "host2/to/deep/extra", "extra");
  fs::create_directories(scratch / "host1/to/more/and/more");
  SyncSettings& sync = chain.settings.sync;
  sync.enabled = sync.mirror = sync.delete_extra = true;
  for (const bool checksum : {false, true}) {
    chain.settings.checksum = chain.settings.sync.checksum = checksum;
    const ChainResult result = Chain(chain, heard).run();
    EXPECT_TRUE(result.source.complete);
    for (const std::string& told : result.told) EXPECT_EQ(told, "");
    expect_all_equal(chain);
    EXPECT_THAT(result.proven, Each(true));
    EXPECT_THAT(result.missing, Each(0u));
    write_file(scratch / "host2/to/deep/er/large3", test_bytes(312'291, 5));
  }
  const ChainResult result = Chain(chain, heard).run();
  EXPECT_TRUE(result.source.complete);
  expect_all_equal(chain);
}

// A target that has a large file takes nothing of it, while another one gets it.
TEST_F(ChainTest, WhatATargetHasIsNotWrittenOnceMore) {
  make_tree();
  ChainCase chain = chain_of(3);
  Chain({.sources = chain.sources, .destinations = {scratch / "host1/to", scratch / "host3/to"}}, heard)
      .run();
  fs::create_directories(scratch / "host2/to");
  const auto inode_of = [](const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_ino;
  };
  const ino_t first = inode_of(scratch / "host1/to/deep/er/large3");
  const ino_t last = inode_of(scratch / "host3/to/deep/er/large3");
  chain.settings.sync.enabled = chain.settings.sync.mirror = true;
  const ChainResult result = Chain(chain, heard).run();
  EXPECT_TRUE(result.source.complete);
  expect_all_equal(chain);
  for (const std::string& told : result.told) EXPECT_EQ(told, "");
  EXPECT_EQ(inode_of(scratch / "host1/to/deep/er/large3"), first);
  EXPECT_EQ(inode_of(scratch / "host3/to/deep/er/large3"), last);
  EXPECT_THAT(result.proven, Each(true));
}

// What a target has got of a broken chain is not all, so it must not pass for that; those before the break
// get all.
TEST_F(ChainTest, NobodyBehindABreakTakesWhatItHasForAll) {
  make_tree();
  ChainCase chain = chain_of(4);
  std::atomic<int> frames{0};
  Chain* running = nullptr;
  chain.taps.resize(3);
  chain.taps[2] = [&](net::Frame&, std::span<std::byte>) {
    if (++frames == 12) running->cut_behind(1);
    return true;
  };
  chain.marker = ".rdcp-00000000000000000000000000000000.run";
  chain.ledger = false;
  Chain cut(chain, heard);
  running = &cut;
  const ChainResult result = cut.run();
  EXPECT_TRUE(result.source.complete);
  const std::string wanted = listing(scratch / "from");
  for (const std::size_t before : {0u, 1u}) {
    EXPECT_TRUE(result.targets[before].complete);
    EXPECT_EQ(listing(chain.destinations[before]), wanted);
  }
  for (const std::size_t behind : {2u, 3u}) {
    EXPECT_FALSE(result.targets[behind].complete);
    EXPECT_NE(result.told[behind], "");
    // The same command is to find that it was cut short.
    const std::string host = fs::path(chain.destinations[behind]).parent_path();
    EXPECT_TRUE(fs::exists(host + "/" + chain.marker));
  }
}

// It is stopped before the streams to the next target are there.
TEST_F(ChainTest, AForwarderThatWasStoppedEndsNoStreamInOrder) {
  fs::create_directories(scratch / "host2/to");
  TargetJob job;
  job.path = scratch / "host2/to";
  job.marker = ".rdcp-00000000000000000000000000000000.run";
  Target target(job, heard.reporter);
  target.open();
  target.join_chain({});
  Begin begin;
  begin.landings = {""};
  ASSERT_TRUE(target.begin(begin));
  Forwarder forwarder(job.settings, StreamWish(), [](const Problem&) {});
  forwarder.stop();
  const net::StreamShape shape{.target_slots = 2, .slot_bytes = 64 << 10};
  const StreamEnds ends = join_in_memory(shape, {});
  std::thread receiving([&] { target.copy({ends.target}, shape); });
  forwarder.copy({ends.source}, shape);
  receiving.join();
  EXPECT_EQ(target.source_end(), SourceEnd::lost);
  EXPECT_FALSE(target.result().complete);
}

// One chunk comes damaged to the second target each time, so the first one gives up; the first has all.
TEST_F(ChainTest, WhoLacksAChunkThatCameDamagedEachTimeDoesNotTakeTheRestForAll) {
  make_tree();
  ChainCase chain = chain_of(2);
  chain.marker = ".rdcp-00000000000000000000000000000000.run";
  chain.ledger = false;
  chain.taps.resize(2);
  chain.taps[1] = [](net::Frame& frame, std::span<std::byte> payload) {
    if (frame.kind == FrameKind::data && frame.offset == 0) payload.front() ^= std::byte{1};
    return true;
  };
  const ChainResult result = Chain(chain, heard).run();
  EXPECT_TRUE(result.targets[0].complete);
  EXPECT_EQ(listing(chain.destinations[0]), listing(scratch / "from"));
  EXPECT_THAT(result.losses[0], testing::HasSubstr("a chunk arrived damaged each time it was sent"));
  EXPECT_FALSE(result.targets[1].complete);
  EXPECT_TRUE(fs::exists(scratch / ("host2/" + chain.marker)));
}

// The same on the way to the first target: the source gives up, and nobody takes what has come for all.
TEST_F(ChainTest, NobodyTakesWhatASourceHasSentThatFailedForAll) {
  make_tree();
  for (const std::size_t targets : {1, 3}) {
    ChainCase chain = chain_of(targets);
    for (std::string& destination : chain.destinations) destination += std::to_string(targets);
    chain.marker = ".rdcp-00000000000000000000000000000000.run";
    chain.taps.resize(1);
    chain.taps[0] = [](net::Frame& frame, std::span<std::byte> payload) {
      if (frame.kind == FrameKind::data && frame.offset == 0) payload.front() ^= std::byte{1};
      return true;
    };
    const ChainResult result = Chain(chain, heard).run();
    EXPECT_FALSE(result.source.complete);
    for (std::size_t i = 0; i < targets; ++i) {
      EXPECT_FALSE(result.targets[i].complete) << i;
      EXPECT_EQ(result.told[i], "") << "the source alone has told why";
      EXPECT_EQ(result.losses[i], "");
      EXPECT_TRUE(fs::exists(fs::path(chain.destinations[i]).parent_path() / chain.marker) ||
                  fs::exists(fs::path(chain.destinations[i]) / chain.marker))
          << i;
    }
  }
}

// Each has got a part of what was sent: those behind the break less than those before it.
TEST_F(ChainTest, WhatABrokenChainHasBroughtIsProvenToo) {
  make_tree();
  for (const int at : {1, 5, 12, 20}) {
    ChainCase chain = chain_of(4);
    for (std::string& destination : chain.destinations) destination += std::to_string(at);
    std::atomic<int> frames{0};
    Chain* running = nullptr;
    std::thread end;
    std::promise<void> over;
    chain.taps.resize(3);
    chain.taps[2] = [&](net::Frame&, std::span<std::byte>) {
      if (++frames != at) return true;
      running->cut_behind(1);
      // The source hears no more answers, until a coordinator that has heard of the break ends everything.
      end = std::thread([&] {
        over.get_future().wait_for(std::chrono::milliseconds(50));
        running->stop();
      });
      return true;
    };
    Chain cut(chain, heard);
    running = &cut;
    const ChainResult result = cut.run();
    over.set_value();
    end.join();
    EXPECT_FALSE(result.source.complete);
    EXPECT_THAT(result.proven, Each(true)) << at;
  }
}

}  // namespace
}  // namespace rdcp::tree
