#include "cli/layout/data_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/locked_memory.h"
#include "net/rails/rails.h"

namespace rdcp::cli {
namespace {

using testing::HasSubstr;
using tree::Transport;

constexpr std::uint64_t kMiB = 1 << 20;

net::RdmaPort port_at(const std::string& device, const std::string& host) {
  net::RdmaPort port;
  port.device = device;
  port.interface = "if-" + device;
  port.host = host;
  port.prefix_bits = 24;
  port.megabits = 100'000;
  port.work_requests_max = 1024;
  port.listen_port = 7000;
  return port;
}

struct DataPathTest : testing::Test {
  DataPathTest() {
    connecting.host = "this host";
    connecting.reach.lockable_bytes = io::kNoLockLimit;
    connecting.reach.rdma.usable = {port_at("rxe0", "10.0.0.1")};
    listening.host = "far";
    listening.reach = connecting.reach;
    listening.reach.listens = true;
    listening.reach.hosts = {"10.0.0.2"};
    listening.reach.rdma.usable = {port_at("rxe0", "10.0.0.2")};
    wish.chunk_bytes = kMiB;
    wish.cpus = 2;
  }
  DataPath chosen() {
    auto path = choose_data_path(wish, connecting, listening);
    EXPECT_TRUE(path.ok()) << path.error().message();
    return path ? std::move(*path) : DataPath();
  }
  std::string refused() {
    const auto path = choose_data_path(wish, connecting, listening);
    EXPECT_FALSE(path.ok());
    return path ? "" : path.error().message();
  }
  std::string only_note() {
    const DataPath path = chosen();
    EXPECT_EQ(path.notes.size(), 1u);
    return path.notes.empty() ? "" : path.notes.front();
  }

  DataPathWish wish;
  DataPathEnd connecting, listening;
};

TEST_F(DataPathTest, NoStreamIsAddedLaterUnlessThatIsAllowed) {
  EXPECT_EQ(chosen().streams_max, 0u);
  wish.transport = Transport::tcp;
  EXPECT_EQ(chosen().streams_max, 0u);
}

TEST_F(DataPathTest, TwiceAsManyMayComeLaterAsThereAreAtFirst) {
  wish.may_grow = true;
  EXPECT_EQ(chosen().streams_max, 4u);
  wish.transport = Transport::tcp;
  EXPECT_EQ(chosen().streams_max, 4u);
}

// All slots of a side together have 64 MiB.
TEST_F(DataPathTest, NoMoreComeLaterThanThereIsMemoryFor) {
  wish.may_grow = true;
  wish.transport = Transport::tcp;
  wish.round_trip = std::chrono::milliseconds(10);
  EXPECT_EQ(chosen().streams, 5u);
  EXPECT_EQ(chosen().slots, 9u);
  EXPECT_EQ(chosen().streams_max, 7u);
  wish.round_trip = std::chrono::milliseconds(20);
  EXPECT_EQ(chosen().streams_max, 0u) << "10 streams have 6 slots each";
  wish.chunk_bytes = 16 * kMiB;
  wish.round_trip = {};
  EXPECT_EQ(chosen().streams_max, 0u);
}

TEST_F(DataPathTest, ATargetThatWritesInOrderHasASlotMore) {
  wish.target_in_order = true;
  EXPECT_EQ(chosen().slots, 5u);
  wish.transport = Transport::tcp;
  EXPECT_EQ(chosen().slots, 5u);
  wish.chunk_bytes = 16 * kMiB;
  EXPECT_EQ(chosen().slots, 2u) << "no more than there is memory for";
}

TEST_F(DataPathTest, NoMoreComeLaterThanMayLockTheirMemory) {
  wish.may_grow = true;
  const std::uint64_t of_stream = 4 * (kMiB + 1024) + (96 << 10);
  connecting.reach.lockable_bytes = 3 * of_stream + 1;
  EXPECT_EQ(chosen().streams_max, 3u);
  connecting.reach.lockable_bytes = 3 * of_stream - 1;
  EXPECT_EQ(chosen().streams_max, 0u);
}

TEST_F(DataPathTest, RdmaWhereBothHaveIt) {
  const DataPath path = chosen();
  ASSERT_EQ(path.rails.size(), 1u);
  EXPECT_EQ(path.rails[0].listening.host, "10.0.0.2");
  EXPECT_TRUE(path.tcp);
  EXPECT_EQ(path.streams, 2u);
  EXPECT_EQ(path.slots, 4u);
  EXPECT_EQ(path.chunk_bytes, kMiB);
  EXPECT_TRUE(path.notes.empty());
}

TEST_F(DataPathTest, WhereOneHostLacksCmItSaysWhichWayIsTaken) {
  for (DataPathEnd* end : {&connecting, &listening}) {
    net::RdmaPort by_hand = end->reach.rdma.usable[0];
    by_hand.host.clear();
    by_hand.gid = end == &connecting ? "0000:0000:0000:0000:0000:ffff:0a00:0001"
                                     : "0000:0000:0000:0000:0000:ffff:0a00:0002";
    end->reach.rdma.usable.push_back(by_hand);
  }
  EXPECT_TRUE(chosen().notes.empty()) << "both have it";
  listening.reach.rdma.usable.erase(listening.reach.rdma.usable.begin());
  listening.reach.rdma.none_because = "/dev/infiniband/rdma_cm: No such file or directory";
  listening.reach.rdma.usable[0].mtu_bytes = 1024;
  connecting.reach.rdma.usable[1].mtu_bytes = 4096;
  EXPECT_EQ(
      only_note(),
      "RDMA connections are made without rdma_cm; far: /dev/infiniband/rdma_cm: No such file or directory");
  EXPECT_TRUE(chosen().warnings.empty()) << "the smaller MTU is taken";
  EXPECT_TRUE(chosen().rails[0].connecting.by_hand());
}

TEST_F(DataPathTest, TcpIsTakenWithoutAWordWhenAskedFor) {
  wish.transport = Transport::tcp;
  EXPECT_TRUE(chosen().rails.empty());
  EXPECT_TRUE(chosen().notes.empty());
}

TEST_F(DataPathTest, WhyNotRdmaNamesTheHost) {
  listening.reach.rdma = {.usable = {}, .none_because = "no RDMA device"};
  EXPECT_TRUE(chosen().rails.empty());
  EXPECT_EQ(only_note(), "RDMA was not used: far: no RDMA device");
  wish.transport = Transport::rdma;
  EXPECT_EQ(refused(), "use RDMA to far: far: no RDMA device");
}

TEST_F(DataPathTest, RdmaAloneDoesNotFallBack) {
  wish.transport = Transport::rdma;
  EXPECT_FALSE(chosen().tcp);
}

TEST_F(DataPathTest, EveryRailHasAStream) {
  connecting.reach.rdma.usable.clear();
  listening.reach.rdma.usable.clear();
  for (const char* n : {"1", "2", "3"}) {
    connecting.reach.rdma.usable.push_back(port_at(std::string("rxe") + n, std::string("10.0.") + n + ".1"));
    listening.reach.rdma.usable.push_back(port_at(std::string("rxe") + n, std::string("10.0.") + n + ".2"));
  }
  EXPECT_EQ(net::best_rails(chosen().rails).size(), 3u);
  EXPECT_EQ(chosen().streams, 3u);
  // An agent that does not choose itself is told those three, and others all nine pairs.
  EXPECT_EQ(begin_for(chosen(), listening.reach, 12).rails.size(), 3u);
  EXPECT_EQ(begin_for(chosen(), listening.reach, 13).rails.size(), 9u);
  wish.streams = 1;
  EXPECT_EQ(chosen().streams, 1u);
}

TEST_F(DataPathTest, EndsOfDifferentMtusAreWarnedOf) {
  net::RdmaPort& ours = connecting.reach.rdma.usable[0];
  net::RdmaPort& theirs = listening.reach.rdma.usable[0];
  ours.mtu_bytes = 4096;
  EXPECT_TRUE(chosen().warnings.empty()) << "what is not known does not differ";
  theirs.mtu_bytes = 4096;
  EXPECT_TRUE(chosen().warnings.empty());
  theirs.mtu_bytes = 1024;
  ASSERT_EQ(chosen().warnings.size(), 1u);
  EXPECT_EQ(chosen().warnings[0],
            "rxe0/1 on this host carries 4096 bytes in a packet, rxe0/1 on far carries 1024 bytes in a "
            "packet: set the "
            "same MTU on if-rxe0 and on if-rxe0");
  ours.link = theirs.link = net::LinkKind::infiniband;
  EXPECT_TRUE(chosen().warnings.empty()) << "a subnet manager knows both";
}

TEST_F(DataPathTest, BytesInOrderTakeOneStream) {
  wish.in_order = true;
  EXPECT_EQ(chosen().streams, 1u);
  wish.cpus = 64;
  EXPECT_EQ(chosen().streams, 1u);
  wish.streams = 3;
  EXPECT_EQ(chosen().streams, 3u) << "the user knows better";
  wish.one_stream = true;
  EXPECT_EQ(chosen().streams, 1u) << "more would not keep the order";
}

TEST_F(DataPathTest, BytesInOrderThatAreWrappedTakeHalfOfTheProcessors) {
  wish.in_order = wish.wraps = true;
  for (const auto& [cpus, streams] : {std::pair(1u, 1u), {2u, 1u}, {4u, 2u}, {64u, 8u}}) {
    wish.cpus = cpus;
    EXPECT_EQ(chosen().streams, streams) << cpus << " processors";
  }
}

TEST_F(DataPathTest, BytesInOrderGoOverEachRailWhereOneIsSlowerThanAPipe) {
  wish.in_order = true;
  const auto streams_at = [&](std::uint32_t megabits, unsigned rails) {
    connecting.reach.rdma.usable.clear();
    listening.reach.rdma.usable.clear();
    for (unsigned i = 0; i < rails; ++i) {
      const std::string device = "rxe" + std::to_string(i), net = "10." + std::to_string(i) + ".0.";
      connecting.reach.rdma.usable.push_back(port_at(device, net + "1"));
      listening.reach.rdma.usable.push_back(port_at(device, net + "2"));
      listening.reach.rdma.usable.back().megabits = megabits;
    }
    return chosen().streams;
  };
  EXPECT_EQ(streams_at(10'000, 1), 2u) << "two threads do the work of a device that is made of software";
  EXPECT_EQ(streams_at(10'000, 4), 4u);
  EXPECT_EQ(streams_at(10'000, 12), 8u);
  EXPECT_EQ(streams_at(20'000, 4), 1u);
  EXPECT_EQ(streams_at(0, 4), 1u) << "the device does not say";
  wish.wraps = true;
  wish.cpus = 8;
  EXPECT_EQ(streams_at(10'000, 2), 4u);
  wish.streams = 3;
  EXPECT_EQ(streams_at(10'000, 4), 3u);
}

// Two streams of four slots of 1 MiB and their queues are a little more than 8 MiB.
TEST_F(DataPathTest, TheArenaShrinksToWhatMayBeLocked) {
  for (const std::uint64_t limit : {8 * kMiB, 4 * kMiB, kMiB}) {
    listening.reach.lockable_bytes = limit;
    const DataPath path = chosen();
    ASSERT_EQ(path.rails.size(), 1u) << limit;
    EXPECT_LE(std::uint64_t{path.streams} * path.slots * path.chunk_bytes, limit);
    EXPECT_EQ(path.chunk_bytes % 4096, 0u);
    EXPECT_GE(path.chunk_bytes, 64u << 10);
    EXPECT_THAT(only_note(), HasSubstr("the locked-memory limit of far (ulimit -l) is"));
    EXPECT_THAT(only_note(), HasSubstr("/etc/security/limits.d/rdma.conf"));
  }
}

// The source has memory for compressed payloads beside its slots.
TEST_F(DataPathTest, MemoryForWhatIsCompressedCounts) {
  connecting.arenas = 2;
  for (const std::uint64_t limit : {16 * kMiB, 8 * kMiB, kMiB}) {
    connecting.reach.lockable_bytes = limit;
    listening.reach.lockable_bytes = limit;
    const DataPath path = chosen();
    EXPECT_LE(2 * std::uint64_t{path.streams} * path.slots * path.chunk_bytes, limit);
    EXPECT_THAT(only_note(), HasSubstr("the locked-memory limit of this host (ulimit -l) is"));
  }
  listening.reach.lockable_bytes = 9 * kMiB;
  connecting.reach.lockable_bytes = 18 * kMiB;
  EXPECT_TRUE(chosen().notes.empty());
}

TEST_F(DataPathTest, TheLeastIsSaidAndTcpIsTaken) {
  connecting.reach.lockable_bytes = 64 << 10;
  EXPECT_TRUE(chosen().rails.empty());
  EXPECT_THAT(only_note(),
              HasSubstr("RDMA was not used: the locked-memory limit of this host (ulimit -l) is"));
  EXPECT_THAT(only_note(), HasSubstr("LimitMEMLOCK=infinity"));
  wish.transport = Transport::rdma;
  EXPECT_THAT(refused(), HasSubstr("and RDMA needs"));
}

// One stream of two slots of 64 KiB, and its queues: what README.md calls about 230 KB.
TEST_F(DataPathTest, TheLeastIsAQuarterOfAMegabyte) {
  constexpr std::uint64_t kLeast = 2 * (65 << 10) + (96 << 10);
  listening.reach.lockable_bytes = kLeast;
  const DataPath least = chosen();
  ASSERT_EQ(least.rails.size(), 1u);
  EXPECT_EQ(least.streams, 1u);
  EXPECT_EQ(least.slots, 2u);
  EXPECT_EQ(least.chunk_bytes, 64u << 10);
  listening.reach.lockable_bytes = kLeast - 1;
  EXPECT_TRUE(chosen().rails.empty());
}

// Soft-RoCE locks 172 KiB for the frames of 510 slots.
TEST_F(DataPathTest, QueuesOfManySlotsCount) {
  wish.round_trip = std::chrono::seconds(1);
  wish.chunk_bytes = 64 << 10;
  listening.reach.lockable_bytes = 64 * kMiB;
  const DataPath path = chosen();
  ASSERT_GT(path.slots, 400u);
  const std::uint64_t queues = 172ull << 10;
  EXPECT_LE(path.streams * (std::uint64_t{path.slots} * path.chunk_bytes + queues), 64 * kMiB);
}

TEST_F(DataPathTest, QueuesFitTheDevice) {
  listening.reach.rdma.usable[0].work_requests_max = 22;
  EXPECT_EQ(chosen().slots, 3u);
}

TEST_F(DataPathTest, DeepPathsHaveMoreSlots) {
  wish.round_trip = std::chrono::milliseconds(4);
  EXPECT_EQ(chosen().slots, 9u);  // 20 MB under way, over two streams
}

// A stream of TCP carries about 2.5 MB in a round trip, and all together are to make 10 Gbit/s.
TEST_F(DataPathTest, LongPathsHaveMoreStreamsOverTcp) {
  wish.transport = tree::Transport::tcp;
  const unsigned at_once = chosen().streams;
  wish.round_trip = std::chrono::milliseconds(20);
  EXPECT_EQ(chosen().streams, 10u);
  wish.round_trip = std::chrono::milliseconds(100);
  EXPECT_EQ(chosen().streams, 16u);
  EXPECT_EQ(chosen().slots, 4u);  // the memory is no more than before
  wish.streams = 3;
  EXPECT_EQ(chosen().streams, 3u);
  wish.streams = 0;
  wish.round_trip = std::chrono::microseconds(100);
  EXPECT_EQ(chosen().streams, at_once);
}

TEST_F(DataPathTest, BytesInOrderGoOverFewerStreamsOfALongPathInSmallerChunks) {
  wish.transport = tree::Transport::tcp;
  wish.in_order = wish.any_chunk_size = true;
  const auto streams_and_chunk = [&](std::chrono::milliseconds round_trip) {
    wish.round_trip = round_trip;
    const DataPath path = chosen();
    return std::pair(path.streams, path.chunk_bytes);
  };
  using std::chrono_literals::operator""ms;
  EXPECT_EQ(streams_and_chunk(2ms), std::pair(1u, 1u << 20));
  EXPECT_EQ(streams_and_chunk(6ms), std::pair(3u, 256u << 10));
  EXPECT_EQ(streams_and_chunk(100ms), std::pair(4u, 256u << 10));
  wish.any_chunk_size = false;
  EXPECT_EQ(streams_and_chunk(100ms), std::pair(4u, 1u << 20)) << "the user has chosen a size";
  wish.any_chunk_size = true;
  wish.streams = 9;
  EXPECT_EQ(streams_and_chunk(100ms), std::pair(9u, 256u << 10));
  wish.streams = 0;
  wish.wraps = true;
  wish.cpus = 64;
  EXPECT_EQ(streams_and_chunk(100ms), std::pair(8u, 256u << 10)) << "sealing is work for more";
  wish.one_stream = true;
  EXPECT_EQ(streams_and_chunk(100ms).first, 1u);
  wish.one_stream = false;
  wish.transport = tree::Transport::rdma;
  EXPECT_EQ(streams_and_chunk(100ms), std::pair(8u, 1u << 20)) << "a queue pair fills a long path by itself";
}

TEST_F(DataPathTest, AQueuePairFillsALongPathByItself) {
  const unsigned at_once = chosen().streams;
  wish.round_trip = std::chrono::milliseconds(100);
  EXPECT_EQ(chosen().streams, at_once);
  EXPECT_FALSE(chosen().rails.empty());
}

TEST_F(DataPathTest, NothingToListenAtIsTheUsersFaultOnlyWhereTheUserNamedIt) {
  listening.reach.hosts.clear();
  listening.reach.rdma.usable.clear();
  listening.reach.no_tcp_because = "listen: address already in use";
  const auto kind = [&] { return choose_data_path(wish, connecting, listening).error().kind; };
  EXPECT_THAT(refused(), HasSubstr("address already in use"));
  EXPECT_EQ(kind(), io::ErrorKind::connection);
  wish.port = 7001;
  EXPECT_EQ(kind(), io::ErrorKind::usage);
  wish.port = 0;
  wish.via = "eth7";
  EXPECT_EQ(kind(), io::ErrorKind::usage);
}

TEST_F(DataPathTest, WhatViaNamesNowhereIsAnError) {
  listening.reach.hosts.clear();
  listening.reach.no_tcp_because = "use interface mlx5_9: no such interface is up and has an address";
  wish.via = "mlx5_9";
  EXPECT_THAT(refused(), HasSubstr("no such interface is up"));
  wish.transport = Transport::rdma;
  EXPECT_THAT(refused(),
              HasSubstr("neither host has a usable RDMA device, interface or address mlx5_9; the "));
  EXPECT_EQ(choose_data_path(wish, connecting, listening).error().kind, io::ErrorKind::usage);
}

}  // namespace
}  // namespace rdcp::cli
