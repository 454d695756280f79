#include "io/numa.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "io/thread.h"

namespace rdcp::io {
namespace {

namespace fs = std::filesystem;

// A sysfs of a made-up host.
class FakeSysfs {
 public:
  FakeSysfs() {
    path_ = testing::TempDir() + "rdcp-numa-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << path_;
  }
  ~FakeSysfs() { fs::remove_all(path_); }
  FakeSysfs(const FakeSysfs&) = delete;
  FakeSysfs& operator=(const FakeSysfs&) = delete;

  void put_node(const std::string& name, const std::string& cpulist) const {
    const fs::path folder = fs::path(path_) / "devices/system/node" / name;
    fs::create_directories(folder);
    std::ofstream(folder / "cpulist") << cpulist << '\n';
  }
  std::vector<NumaNode> nodes() const { return numa_nodes(path_); }

 private:
  std::string path_;
};

// Two sockets with hyperthreads.
std::vector<NumaNode> two_nodes() {
  return {{0, parse_cpus("0-3,8-11").value()}, {1, parse_cpus("4-7,12-15").value()}};
}

int memory_policy() {
  int policy = -1;
  return ::syscall(SYS_get_mempolicy, &policy, nullptr, 0, nullptr, 0) == 0 ? policy : -1;
}

void in_thread(std::function<void()> what) {
  auto thread = Thread::start("a thread of a test", std::move(what));
  ASSERT_TRUE(thread);
  thread->join();
}

TEST(Cpus, AreReadAndWrittenAsTheKernelDoes) {
  for (const char* list : {"", "0", "0-1", "0-3,8-11", "5,7-8", "0,2,4,6", "1000-1003"}) {
    const auto cpus = parse_cpus(list);
    ASSERT_TRUE(cpus) << list;
    EXPECT_EQ(text_of(*cpus), list);
  }
  EXPECT_EQ(parse_cpus("3,1-2,2"), (Cpus{1, 2, 3}));
}

TEST(Cpus, WhatIsNoListIsNone) {
  for (const char* list : {"a", "0-", "-1", "3-1", "0,", ",0", "0 1", "0-3:1/2", "99999999999", "0-70000"}) {
    EXPECT_FALSE(parse_cpus(list)) << list;
  }
}

TEST(NumaNodes, AreReadByTheirNumbers) {
  const FakeSysfs sysfs;
  sysfs.put_node("node10", "8-11");
  sysfs.put_node("node0", "0-3,12");
  sysfs.put_node("node2", "");  // it has memory alone
  sysfs.put_node("nodes", "1");
  sysfs.put_node("power", "1");
  const auto nodes = sysfs.nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].number, 0);
  EXPECT_EQ(text_of(nodes[0].cpus), "0-3,12");
  EXPECT_EQ(nodes[1].number, 10);
  EXPECT_EQ(text_of(nodes[1].cpus), "8-11");
}

TEST(NumaNodes, AKernelThatKnowsNoneHasNone) {
  EXPECT_TRUE(FakeSysfs().nodes().empty());
}

TEST(NumaPlace, IsTheNodeOfTheDevice) {
  const NumaPlace place = place_near(1, two_nodes(), parse_cpus("0-15").value());
  EXPECT_EQ(place.node, 1);
  EXPECT_EQ(text_of(place.cpus), "4-7,12-15");
}

TEST(NumaPlace, HasOnlyWhatTheProcessMayUse) {
  EXPECT_EQ(text_of(place_near(1, two_nodes(), {0, 1, 6, 7, 12}).cpus), "6-7,12");
  EXPECT_TRUE(place_near(1, two_nodes(), {0, 1, 2, 3}).anywhere()) << "all stays as it was";
}

TEST(NumaPlace, IsAnywhereWhereThereIsNoChoice) {
  const Cpus all = parse_cpus("0-15").value();
  EXPECT_TRUE(place_near(-1, two_nodes(), all).anywhere()) << "nobody knows the device's node";
  EXPECT_TRUE(place_near(2, two_nodes(), all).anywhere());
  EXPECT_TRUE(place_near(0, {{0, all}}, all).anywhere()) << "there is one node";
  EXPECT_TRUE(place_near(0, {}, all).anywhere());
}

// The kernel says what has become of the thread, and of no other one.
TEST(NumaPlace, AThreadGoesThereWithThoseThatItStarts) {
  if (memory_policy() < 0) GTEST_SKIP() << "memory policies are refused here, as by a container or qemu-user";
  const Cpus before = allowed_cpus();
  ASSERT_FALSE(before.empty());
  const Cpus last{before.back()};
  Cpus moved, child;
  int policy = -1, policy_of_child = -1;
  in_thread([&] {
    const auto there = go_to({0, last});
    EXPECT_TRUE(there) << there.error().message();
    moved = allowed_cpus();
    policy = memory_policy();
    in_thread([&] {
      child = allowed_cpus();
      policy_of_child = memory_policy();
    });
  });
  EXPECT_EQ(moved, last);
  EXPECT_EQ(child, last);
  EXPECT_EQ(policy, MPOL_PREFERRED);
  EXPECT_EQ(policy_of_child, MPOL_PREFERRED);
  EXPECT_EQ(allowed_cpus(), before);
  EXPECT_EQ(memory_policy(), MPOL_DEFAULT);
}

TEST(NumaPlace, AnywhereIsWhereTheThreadIs) {
  in_thread([] {
    const Cpus before = allowed_cpus();
    const int policy = memory_policy();
    EXPECT_TRUE(go_to({}));
    EXPECT_EQ(allowed_cpus(), before);
    EXPECT_EQ(memory_policy(), policy);
  });
}

// This host has no such node, and nobody has so many processors.
TEST(NumaPlace, WhatTheKernelRefusesIsToldAndTheOtherHolds) {
  if (memory_policy() < 0) GTEST_SKIP() << "memory policies are refused here, as by a container or qemu-user";
  in_thread([] {
    const Cpus last{allowed_cpus().back()};
    const auto refused = go_to({1023, last});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("NUMA node 1023"), std::string::npos);
    EXPECT_EQ(allowed_cpus(), last);
  });
  in_thread([] {
    const auto refused = go_to({0, {60'000}});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("processors 60000"), std::string::npos);
    EXPECT_EQ(memory_policy(), MPOL_PREFERRED);
  });
}

// As of numactl(8).
TEST(NumaPlace, AMemoryPolicyThatSomebodyHasChosenStays) {
  if (memory_policy() < 0) GTEST_SKIP() << "memory policies are refused here, as by a container or qemu-user";
  in_thread([] {
    const unsigned long first_node = 1;
    ASSERT_EQ(::syscall(SYS_set_mempolicy, MPOL_BIND, &first_node, 8 * sizeof first_node), 0);
    EXPECT_TRUE(go_to({0, allowed_cpus()}));
    EXPECT_EQ(memory_policy(), MPOL_BIND);
  });
}

}  // namespace
}  // namespace rdcp::io
