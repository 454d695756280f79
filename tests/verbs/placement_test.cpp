// Where the streams of made-up devices have their threads, their memory and their completion queues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <future>

#include "io/numa.h"
#include "io/thread.h"
#include "net/rails/rdma_facts.h"
#include "net/rdma/rdma_connection.h"
#include "tests/verbs/fabric.h"
#include "tests/verbs/one_copy.h"
#include "tree/doctor/host_facts.h"
#include "tree/streams/stream_setup.h"

namespace rdcp::made_up {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tree::StreamMaker;

constexpr const char* kNodes = "/sys/devices/system/node/";

// Returns a device on this node of a host that has two: one with this machine's first processor, one with the
// others.
Device device_on(int node, int vectors = 8) {
  io::Cpus cpus = io::allowed_cpus();
  Device device = with_address(make_device(Model::connectx7, "mlx5_0"), "rail0", "10.77.0.1");
  device.completion_vectors = vectors;
  device.files["device/numa_node"] = std::to_string(node);
  device.files[std::string(kNodes) + "node0/cpulist"] = io::text_of({cpus.front()});
  cpus.erase(cpus.begin());
  device.files[std::string(kNodes) + "node1/cpulist"] = io::text_of(cpus);
  return device;
}

std::vector<int> vectors_of(const net::RdmaConnections& connections) {
  std::vector<int> vectors;
  for (const net::RdmaConnectionPtr& connection : connections) {
    vectors.push_back(static_cast<CompletionQueueObject*>(connection->id().qp->send_cq)->vector);
  }
  return vectors;
}

// Both ends of a job, as agents set them up.
class Placement : public DevicesTest {
 protected:
  void SetUp() override {
    int policy = 0;
    if (io::allowed_cpus().size() < 2) GTEST_SKIP() << "there is one processor";
    if (::syscall(SYS_get_mempolicy, &policy, nullptr, 0, nullptr, 0) != 0)
      GTEST_SKIP() << "memory policies are refused here, as by a container or qemu-user";
  }

  // Returns what the workers of the side that connects are made of; the other side's go to `others`.
  std::vector<StreamMaker> make(std::uint16_t streams) { return make(streams, connecting_); }
  std::vector<StreamMaker> make(std::uint16_t streams, tree::StreamSetup& connecting) {
    tree::StreamWish wish;
    wish.transport = tree::Transport::rdma;
    const auto from = connecting.open(wish);
    wish.connect = tree::Connect::listen;
    const auto to = listening_.open(wish);
    EXPECT_TRUE(from && to);
    tree::Begin begin;
    begin.streams = streams;
    begin.chunk_bytes = 64 << 10;
    begin.rails = net::choose_rails(from->rdma, to->rdma, "").candidates;
    auto accepting = std::async(std::launch::async, [&] { return listening_.make(begin, false, ""); });
    auto connected = connecting.make(begin, true, "");
    auto accepted = accepting.get();
    EXPECT_TRUE(connected) << connected.error().message();
    EXPECT_TRUE(accepted) << accepted.error().message();
    if (!connected || !accepted) return {};
    others_ = std::move(*accepted);
    return std::move(*connected);
  }

  // Returns where a thread is that has prepared itself for the stream.
  struct Found {
    io::Cpus cpus;
    int policy = -1;
  };
  static Found prepared(const StreamMaker& maker) {
    Found found;
    auto thread = io::Thread::start("a worker", [&] {
      maker.prepare_thread();
      found.cpus = io::allowed_cpus();
      EXPECT_EQ(::syscall(SYS_get_mempolicy, &found.policy, nullptr, 0, nullptr, 0), 0);
    });
    EXPECT_TRUE(thread);
    return found;
  }
  static std::string text_of(const std::vector<io::Words>& notes) {
    std::string text;
    for (const io::Words& note : notes) text += std::string(note) + "\n";
    return text;
  }

  const tree::StreamPlace place_{}, leaving_place_{.numa = false};
  tree::StreamSetup connecting_{place_}, leaving_{leaving_place_}, listening_{place_};
  std::vector<StreamMaker> others_;
};

TEST_F(DevicesTest, StreamsTakeCompletionVectorsInTurn) {
  set({device_on(0, 3)});
  net::RdmaJob job;
  job.streams = 7;
  const auto pair = net::make_rdma_pair(net::own_rdma_ports().usable.at(0), job);
  EXPECT_THAT(vectors_of(pair.source), ElementsAre(0, 1, 2, 0, 1, 2, 0));
  EXPECT_THAT(vectors_of(pair.target), ElementsAre(0, 1, 2, 0, 1, 2, 0)) << "whatever order they come in";
}

TEST_F(DevicesTest, ADeviceMayHaveOneVector) {
  set({device_on(0, 1)});
  net::RdmaJob job;
  job.streams = 2;
  const auto pair = net::make_rdma_pair(net::own_rdma_ports().usable.at(0), job);
  EXPECT_THAT(vectors_of(pair.source), ElementsAre(0, 0));
}

TEST_F(DevicesTest, ADevicesNodeAndVectorsAreFound) {
  set({device_on(1, 63)});
  const net::RdmaDeviceFacts device = net::rdma_facts().devices.at(0);
  EXPECT_EQ(device.numa_node, 1);
  EXPECT_EQ(device.completion_vectors, 63u);
  EXPECT_EQ(tree::host_facts().numa_nodes.size(), 2u);
}

// Soft-RoCE and the like: the network interface is on the node, or the PCI function that it is on.
TEST_F(DevicesTest, ADeviceMadeInSoftwareIsOnItsInterfacesNode) {
  Device device = device_on(0);
  device.files["device/numa_node"] = "-1";
  set({device});
  EXPECT_EQ(net::rdma_facts().devices.at(0).numa_node, -1);
  fabric().put_file("/sys/class/net/rail0/device/numa_node", "1");
  EXPECT_EQ(net::rdma_facts().devices.at(0).numa_node, 1);
}

TEST_F(Placement, AWorkerGoesToTheNodeOfItsDevice) {
  set({device_on(0)});
  const auto makers = make(2);
  ASSERT_EQ(makers.size(), 2u);
  const io::Cpus first{io::allowed_cpus().front()};
  for (const auto& side : {makers, others_}) {
    for (const StreamMaker& maker : side) {
      const Found found = prepared(maker);
      EXPECT_EQ(found.cpus, first);
      EXPECT_EQ(found.policy, MPOL_PREFERRED);
    }
  }
  const std::string there = " mlx5_0 run on NUMA node 0, processors " + io::text_of(first) + "\n";
  EXPECT_EQ(text_of(connecting_.notes()), "streams from" + there) << "once for all streams";
  EXPECT_EQ(text_of(listening_.notes()), "streams to" + there);
}

// This machine has no second node (or more of them than the made-up host), so its kernel refuses the memory.
TEST_F(Placement, WhatTheKernelRefusesIsANote) {
  if (io::numa_nodes().size() > 1) GTEST_SKIP() << "this machine has several NUMA nodes";
  set({device_on(1)});
  const auto makers = make(1);
  ASSERT_EQ(makers.size(), 1u);
  io::Cpus others = io::allowed_cpus();
  others.erase(others.begin());
  const Found found = prepared(makers[0]);
  EXPECT_EQ(found.cpus, others);
  EXPECT_EQ(found.policy, MPOL_DEFAULT);
  EXPECT_THAT(text_of(connecting_.notes()), HasSubstr("streams from mlx5_0 are not kept on NUMA node 1: "));
}

TEST_F(Placement, WhereThereIsNoChoiceNothingIsDoneOrSaid) {
  Device device = device_on(0);
  device.files[std::string(kNodes) + "node1/cpulist"] = "";
  set({device});
  const auto makers = make(1);
  ASSERT_EQ(makers.size(), 1u);
  EXPECT_EQ(prepared(makers[0]).cpus, io::allowed_cpus());
  EXPECT_EQ(text_of(connecting_.notes()), "");
}

TEST_F(Placement, NothingIsMovedIfTheUserWantsIt) {
  set({device_on(1)});
  connecting_.leave_placement();
  const auto makers = make(3);
  ASSERT_EQ(makers.size(), 3u);
  EXPECT_EQ(prepared(makers[2]).cpus, io::allowed_cpus());
  EXPECT_EQ(prepared(makers[2]).policy, MPOL_DEFAULT);
  EXPECT_EQ(text_of(connecting_.notes()), "");
  std::vector<int> vectors;
  for (const Fabric::MadeQueuePair& made : fabric().queue_pairs()) vectors.push_back(made.completion_vector);
  std::ranges::sort(vectors);
  EXPECT_THAT(vectors, ElementsAre(0, 0, 0, 0, 1, 2)) << "the other side was asked nothing";
}

// rdrecv's user decides for rdrecv, whatever the sender says.
TEST_F(Placement, ASideThatLeavesAllAsItIsNeedNotBeTold) {
  set({device_on(0)});
  const auto makers = make(1, leaving_);
  ASSERT_EQ(makers.size(), 1u);
  EXPECT_EQ(prepared(makers[0]).cpus, io::allowed_cpus());
  EXPECT_EQ(prepared(others_[0]).cpus.size(), 1u);
}

}  // namespace
}  // namespace rdcp::made_up
