#include "tree/doctor/examine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "io/locked_memory.h"
#include "tree/protocol/codec.h"

namespace rdcp::tree {
namespace {

using net::LinkKind;
using ::testing::HasSubstr;
using ::testing::Not;

// A host with nothing to complain of: one active RoCE port.
HostFacts good_host() {
  net::RdmaPortFacts port;
  port.state = "ACTIVE";
  port.physical_state = "LinkUp";
  port.megabits = 100'000;
  port.mtu_bytes = 4096;
  port.mtu_bytes_max = 4096;
  port.gids = {"fe80:0000:0000:0000:0000:0000:0000:0001", "0000:0000:0000:0000:0000:ffff:0a00:0001"};
  port.interfaces = {"eth0"};
  net::RdmaDeviceFacts device;
  device.name = "mlx5_0";
  device.node = "/dev/infiniband/uverbs0";
  device.numa_node = 0;
  device.ports = {port};
  HostFacts facts;
  facts.rdma.devices = {device};
  facts.rdma.addresses = {{"eth0", "10.0.0.1", 24, "mlx5_0", 1, port.gids[1]}};
  facts.lockable_bytes = io::kNoLockLimit;
  facts.huge_pages = "madvise";
  facts.numa_nodes = {{0, {0, 1, 2, 3}}, {1, {4, 5, 6, 7}}};
  facts.allowed_cpus = {0, 1, 2, 3, 4, 5, 6, 7};
  facts.disk = {"ext4", "nvme0n1", 0};
  facts.landlock.abi = 7;
  return facts;
}

HostFacts host_without_rdma() {
  HostFacts facts = good_host();
  facts.rdma = {};
  return facts;
}

std::vector<Finding> findings_of(HostFacts facts) {
  facts.ports = net::usable_ports(facts.rdma);
  return examine(facts);
}

// The finding on a subject; a problem without text where there is none.
Finding found(const HostFacts& facts, const std::string& subject) {
  for (const Finding& finding : findings_of(facts)) {
    if (finding.subject == subject) return finding;
  }
  ADD_FAILURE() << "nothing on " << subject;
  return {Level::problem, subject, "", ""};
}

Level worst(const HostFacts& facts) {
  Level level = Level::ok;
  for (const Finding& finding : findings_of(facts)) level = std::max(level, finding.level);
  return level;
}

net::RdmaPortFacts& port_of(HostFacts& facts) {
  return facts.rdma.devices[0].ports[0];
}

TEST(Examine, AGoodHostIsOkThroughout) {
  for (const Finding& finding : findings_of(good_host())) {
    EXPECT_EQ(finding.level, Level::ok) << finding.subject << ": " << finding.text;
    EXPECT_EQ(finding.advice, "") << finding.subject;
    EXPECT_NE(finding.text, "") << finding.subject;
  }
  EXPECT_EQ(found(good_host(), "RDMA").text, "can be used: mlx5_0/1");
  EXPECT_EQ(found(good_host(), "mlx5_0/1").text,
            "ACTIVE, RoCE, 100 Gb/s, MTU 4096, GID fe80::1, ::ffff:10.0.0.1, 10.0.0.1 on eth0");
  EXPECT_EQ(found(good_host(), "rdma_ucm").text, "/dev/infiniband/rdma_cm can be opened");
}

TEST(Examine, WithoutCmConnectionsAreMadeWithoutIt) {
  HostFacts facts = good_host();
  facts.rdma.addresses.clear();
  port_of(facts).gid_table = {{.gid = port_of(facts).gids[1], .routable = true, .interface = "eth0"}};
  EXPECT_EQ(found(facts, "mlx5_0/1").level, Level::ok);
  EXPECT_THAT(found(facts, "mlx5_0/1").text,
              HasSubstr("no IP address: connections are made without rdma_cm"));
  facts.rdma.cm_error = ENOENT;
  EXPECT_EQ(found(facts, "RDMA").text, "can be used: mlx5_0/1");
  EXPECT_EQ(found(facts, "rdma_ucm").level, Level::warning);
  EXPECT_THAT(found(facts, "rdma_ucm").text, HasSubstr("connections are made without it"));
  EXPECT_THAT(found(facts, "rdma_ucm").advice, HasSubstr("modprobe rdma_ucm"));
}

TEST(Examine, ASlotThatIsNarrowerThanThePortsIsAWarning) {
  HostFacts facts = good_host();
  facts.adapters = {{"mlx5_0", {8, 4}, {16, 16}}};
  for (const Finding& finding : findings_of(facts)) {
    if (finding.subject != "mlx5_0" || finding.text.find("PCIe") == std::string::npos) continue;
    EXPECT_EQ(finding.level, Level::warning);
    EXPECT_EQ(finding.text,
              "PCIe 8 GT/s x4, 32 Gb/s, the adapter could 16 GT/s x16, less than the 100 Gb/s of its ports");
    EXPECT_THAT(finding.advice, HasSubstr("a slot with 16 lanes of 16 GT/s"));
    return;
  }
  FAIL() << "nothing on the slot";
}

TEST(Examine, ASlotThatIsWideEnoughIsNoWarning) {
  HostFacts facts = good_host();
  facts.adapters = {
      {"mlx5_0", {16, 8}, {16, 16}}};  // half of what the adapter could, but more than its ports
  EXPECT_EQ(worst(facts), Level::ok);
  facts.adapters = {{"mlx5_0", {}, {}}};  // not on PCIe
  EXPECT_EQ(worst(facts), Level::ok);
  facts.adapters = {{"mlx5_0", {8, 8}, {8, 8}}};  // less than its ports, but no slot would help
  EXPECT_EQ(worst(facts), Level::ok);
}

TEST(Examine, PortsInOneSubnetThatAnswerForEachOtherAreAWarning) {
  HostFacts facts = good_host();
  facts.shared_subnets = {{"eth0", "eth1", "10.0.0.0/24"}};
  const Finding shared = found(facts, "eth0");
  EXPECT_EQ(shared.level, Level::warning);
  EXPECT_THAT(shared.text, HasSubstr("eth1 is in the same subnet, 10.0.0.0/24"));
  EXPECT_THAT(shared.advice, HasSubstr("net.ipv4.conf.all.arp_ignore=1"));
}

TEST(Examine, NoRdmaIsNoProblem) {
  EXPECT_EQ(worst(host_without_rdma()), Level::ok);
  EXPECT_EQ(found(host_without_rdma(), "RDMA"),
            (Finding{Level::ok, "RDMA", "no RDMA device: TCP will be used", ""}));
}

TEST(Examine, AnAdapterWithoutDriverIsNamed) {
  HostFacts facts = host_without_rdma();
  facts.idle_adapters = {"0000:3b:00.0"};
  const Finding finding = found(facts, "PCI 0000:3b:00.0");
  EXPECT_EQ(finding.level, Level::warning);
  EXPECT_THAT(finding.advice, HasSubstr("modprobe mlx5_ib"));
}

TEST(Examine, APortThatIsDownIsAProblemWhereItIsTheOnlyOne) {
  HostFacts facts = good_host();
  port_of(facts).state = "DOWN";
  port_of(facts).physical_state = "Polling";
  const Finding port = found(facts, "mlx5_0/1");
  EXPECT_EQ(port.level, Level::problem);
  EXPECT_THAT(port.text, HasSubstr("DOWN (Polling), RoCE"));
  EXPECT_THAT(port.advice, HasSubstr("ip link set dev eth0 up"));
  EXPECT_EQ(found(facts, "RDMA").level, Level::problem);
  EXPECT_THAT(found(facts, "RDMA").text, HasSubstr("TCP will be used"));
}

TEST(Examine, APortThatIsDownIsAWarningBesideAGoodOne) {
  HostFacts facts = good_host();
  facts.rdma.devices[0].ports.push_back(port_of(facts));
  facts.rdma.devices[0].ports[1].number = 2;
  facts.rdma.devices[0].ports[1].state = "DOWN";
  EXPECT_EQ(found(facts, "mlx5_0/2").level, Level::warning);
  EXPECT_EQ(found(facts, "mlx5_0/1").level, Level::ok);
  EXPECT_EQ(worst(facts), Level::warning);
}

TEST(Examine, InitWantsASubnetManager) {
  HostFacts facts = good_host();
  port_of(facts).state = "INIT";
  port_of(facts).link = LinkKind::infiniband;
  const Finding port = found(facts, "mlx5_0/1");
  EXPECT_EQ(port.level, Level::problem);
  EXPECT_THAT(port.text, HasSubstr("INIT"));
  EXPECT_THAT(port.advice, HasSubstr("opensm"));
}

TEST(Examine, APortWithoutAddressSaysHowToGiveItOne) {
  HostFacts facts = good_host();
  facts.rdma.addresses.clear();
  Finding port = found(facts, "mlx5_0/1");
  EXPECT_EQ(port.level, Level::problem);
  EXPECT_THAT(port.text, HasSubstr("no IP address"));
  EXPECT_EQ(port.advice, "ip addr add ADDRESS/PREFIX dev eth0");
  port_of(facts).link = LinkKind::infiniband;
  port_of(facts).interfaces.clear();
  EXPECT_EQ(found(facts, "mlx5_0/1").advice, "modprobe ib_ipoib; ip addr add ADDRESS/PREFIX dev ib0");
}

TEST(Examine, ASmallMtuIsAWarning) {
  HostFacts facts = good_host();
  port_of(facts).mtu_bytes = 1024;
  const Finding port = found(facts, "mlx5_0/1");
  EXPECT_EQ(port.level, Level::warning);
  EXPECT_THAT(port.text, HasSubstr("MTU 1024"));
  EXPECT_THAT(port.advice, HasSubstr("ip link set dev eth0 mtu 9000"));
}

TEST(Examine, ASmallMtuIsNoFaultWhereItIsAllThatThePortHas) {
  HostFacts facts = good_host();
  port_of(facts).mtu_bytes = port_of(facts).mtu_bytes_max = 1024;
  EXPECT_EQ(worst(facts), Level::ok);
  // iWARP's packets are TCP's.
  facts = good_host();
  port_of(facts).mtu_bytes = 1024;
  port_of(facts).link = LinkKind::iwarp;
  EXPECT_EQ(worst(facts), Level::ok);
  EXPECT_THAT(found(facts, "mlx5_0/1").text, Not(HasSubstr("MTU")));
}

TEST(Examine, TheTrafficClassOfThisHostIsShown) {
  HostFacts facts = good_host();
  port_of(facts).default_tos = 106;
  EXPECT_THAT(found(facts, "mlx5_0/1").text, HasSubstr(", default_roce_tos 106 (DSCP 26)"));
  EXPECT_EQ(worst(facts), Level::ok);
  port_of(facts).link = LinkKind::infiniband;
  EXPECT_THAT(found(facts, "mlx5_0/1").text, Not(HasSubstr("default_roce_tos")));
}

TEST(Examine, ManyGidsStayOneShortLine) {
  HostFacts facts = good_host();
  for (int i = 0; i < 200; ++i) port_of(facts).gids.push_back("fe80::" + std::to_string(i));
  const Finding port = found(facts, "mlx5_0/1");
  EXPECT_THAT(port.text, HasSubstr("and 198 more"));
  EXPECT_LT(port.text.size(), 200U);
}

TEST(Examine, ADeviceThatMayNotBeOpened) {
  HostFacts facts = good_host();
  facts.rdma.devices[0].ports.clear();
  facts.rdma.devices[0].open_error = EACCES;
  Finding device = found(facts, "mlx5_0");
  EXPECT_EQ(device.level, Level::problem);
  EXPECT_EQ(device.text, "/dev/infiniband/uverbs0: Permission denied");
  EXPECT_THAT(device.advice, HasSubstr("chmod a+rw /dev/infiniband/uverbs0"));
  facts.rdma.devices[0].open_error = ENOENT;
  EXPECT_THAT(found(facts, "mlx5_0").advice, HasSubstr("--device /dev/infiniband/uverbs0"));
}

TEST(Examine, ADeviceThatTheLibraryDoesNotOffer) {
  HostFacts facts = good_host();
  facts.rdma.devices[0].ports.clear();
  facts.rdma.devices[0].node.clear();
  EXPECT_THAT(found(facts, "mlx5_0").advice, HasSubstr("ibverbs-providers"));
  facts.rdma.has_uverbs = false;
  EXPECT_EQ(found(facts, "mlx5_0").advice, "modprobe ib_uverbs");
  EXPECT_EQ(found(facts, "mlx5_0").level, Level::problem);
}

TEST(Examine, WithoutTheConnectionManagerThereIsOneProblemToMend) {
  HostFacts facts = good_host();
  facts.rdma.addresses.clear();
  facts.rdma.cm_error = ENOENT;
  const Finding manager = found(facts, "rdma_ucm");
  EXPECT_EQ(manager.level, Level::problem);
  EXPECT_EQ(manager.text, "/dev/infiniband/rdma_cm: No such file or directory");
  EXPECT_THAT(manager.advice, HasSubstr("modprobe rdma_ucm"));
  // Nobody could ask for addresses, so nothing is said of them.
  EXPECT_THAT(found(facts, "mlx5_0/1").text, Not(HasSubstr("no IP address")));
}

TEST(Examine, LockedMemoryForRdma) {
  HostFacts facts = good_host();
  facts.lockable_bytes = 64 << 10;
  Finding limit = found(facts, "locked memory");
  EXPECT_EQ(limit.level, Level::problem);
  EXPECT_THAT(limit.text, HasSubstr("64 KiB"));
  EXPECT_THAT(limit.advice, HasSubstr("/etc/security/limits.d/"));
  EXPECT_THAT(limit.advice, HasSubstr("LimitMEMLOCK"));
  facts.lockable_bytes = 8 << 20;
  limit = found(facts, "locked memory");
  EXPECT_EQ(limit.level, Level::warning);
  EXPECT_THAT(limit.text, HasSubstr("8 MiB"));
  EXPECT_NE(limit.advice, "");
  facts.lockable_bytes = 1 << 30;
  EXPECT_EQ(found(facts, "locked memory").level, Level::ok);
}

TEST(Examine, LockedMemoryWithoutRdmaIsNotAskedFor) {
  HostFacts facts = host_without_rdma();
  facts.lockable_bytes = 64 << 10;
  EXPECT_EQ(found(facts, "locked memory").level, Level::ok);
}

TEST(Examine, WithoutIoUringAThreadPoolWorks) {
  HostFacts facts = host_without_rdma();
  facts.uring_refusal = "io_uring_setup: Operation not permitted";
  Finding ring = found(facts, "io_uring");
  EXPECT_EQ(ring.level, Level::warning);
  EXPECT_THAT(ring.text, HasSubstr("Operation not permitted"));
  EXPECT_THAT(ring.advice, HasSubstr("seccomp"));
  facts.uring_disabled = 2;
  EXPECT_EQ(found(facts, "io_uring").advice, "sysctl -w kernel.io_uring_disabled=0");
}

TEST(Examine, WhatTheKernelCanRefuse) {
  HostFacts facts = host_without_rdma();
  EXPECT_EQ(found(facts, "sandbox").text, "Landlock ABI 7");
  facts.landlock.abi = 3;
  EXPECT_EQ(found(facts, "sandbox").level, Level::ok);
  EXPECT_THAT(found(facts, "sandbox").text, HasSubstr("Linux 6.7"));
  facts.landlock.abi = 1;
  EXPECT_EQ(found(facts, "sandbox").level, Level::warning);
  EXPECT_THAT(found(facts, "sandbox").text, HasSubstr("hard links"));
  facts.landlock = {.abi = 0, .none_because = "this kernel has no Landlock"};
  EXPECT_EQ(found(facts, "sandbox").level, Level::warning);
  EXPECT_EQ(found(facts, "sandbox").advice, "this kernel has no Landlock");
}

TEST(Examine, IoUringWithoutRegisteredBuffers) {
  HostFacts facts = host_without_rdma();
  facts.buffers_refusal = "raise the memlock limit (ulimit -l)";
  const Finding ring = found(facts, "io_uring");
  EXPECT_EQ(ring.level, Level::warning);
  EXPECT_THAT(ring.text, HasSubstr("without registered buffers"));
  EXPECT_THAT(ring.advice, HasSubstr("limits.d"));
  // Another cause is not cured by that.
  facts.buffers_refusal = "Operation not permitted";
  EXPECT_EQ(found(facts, "io_uring").level, Level::warning);
  EXPECT_EQ(found(facts, "io_uring").advice, "");
}

TEST(Examine, HugePagesThatAreOffAreAWarning) {
  HostFacts facts = host_without_rdma();
  facts.huge_pages = "never";
  EXPECT_EQ(found(facts, "huge pages").level, Level::warning);
  EXPECT_THAT(found(facts, "huge pages").advice, HasSubstr("transparent_hugepage"));
  facts.huge_pages = "";
  EXPECT_EQ(found(facts, "huge pages").level, Level::ok);
}

// The warnings that speak of NUMA nodes.
std::size_t far_apart(const HostFacts& facts) {
  std::size_t count = 0;
  for (const Finding& finding : findings_of(facts)) {
    if (finding.level == Level::warning && finding.text.find("NUMA") != std::string::npos) ++count;
  }
  return count;
}

TEST(Examine, ADeviceFarFromTheDiskIsAWarning) {
  HostFacts facts = good_host();
  EXPECT_EQ(far_apart(facts), 0U);
  facts.disk.numa_node = 1;
  EXPECT_EQ(far_apart(facts), 1U);
  facts.disk.numa_node = -1;  // not known
  EXPECT_EQ(far_apart(facts), 0U);
}

// A device has a finding on its node beside the one on its file in /dev.
std::string placement(const HostFacts& facts) {
  for (const Finding& finding : findings_of(facts)) {
    if (finding.text.find("on NUMA node") == 0) return finding.text;
  }
  return {};
}

TEST(Examine, WhereTheStreamsOfADeviceRunIsTold) {
  HostFacts facts = good_host();
  EXPECT_EQ(placement(facts), "on NUMA node 0, and so its streams run there, on processors 0-3");
  facts.allowed_cpus = {2, 3, 4};
  EXPECT_EQ(placement(facts), "on NUMA node 0, and so its streams run there, on processors 2-3");
  EXPECT_EQ(far_apart(facts), 0U);
  facts.allowed_cpus = {4, 5};
  EXPECT_EQ(placement(facts),
            "on NUMA node 0, of whose processors this process may use none, so its streams run far from it");
  EXPECT_EQ(far_apart(facts), 1U);
  facts.disk.numa_node = 1;
  EXPECT_EQ(far_apart(facts), 1U) << "one finding says both";
}

TEST(Examine, AHostWithOneNodeHearsNothingOfNodes) {
  HostFacts facts = good_host();
  facts.numa_nodes.pop_back();
  facts.disk.numa_node = -1;
  EXPECT_EQ(placement(facts), "");
}

TEST(Examine, CompletionVectorsAreCounted) {
  HostFacts facts = good_host();
  facts.rdma.devices[0].completion_vectors = 63;
  EXPECT_EQ(found(facts, "mlx5_0").text, "/dev/infiniband/uverbs0 can be opened, 63 completion vectors");
  facts.rdma.devices[0].completion_vectors = 1;
  EXPECT_EQ(found(facts, "mlx5_0").text, "/dev/infiniband/uverbs0 can be opened, 1 completion vector");
}

TEST(Examine, ADiskIsNamedWithItsFilesystem) {
  HostFacts facts = good_host();
  EXPECT_EQ(found(facts, "disk").text, "ext4 on nvme0n1, NUMA node 0 (of the current directory)");
  facts.disk = {"tmpfs", "", -1};
  EXPECT_EQ(found(facts, "disk").text, "tmpfs (of the current directory), no disk of its own");
}

TEST(Examine, FindingsTravelUnchanged) {
  Findings sent{findings_of(good_host())};
  sent.findings[0].level = Level::warning;
  Findings received;
  ASSERT_TRUE(decode_fields(encode_fields(sent), received));
  EXPECT_EQ(received.findings, sent.findings);
}

// On this machine, whatever it is.
TEST(HostFacts, AreThoseOfThisMachine) {
  const HostFacts facts = host_facts();
  EXPECT_FALSE(facts.allowed_cpus.empty());
  EXPECT_NE(facts.disk.filesystem, "");
  EXPECT_GT(facts.lockable_bytes, 0U);
  EXPECT_NE(facts.ports.usable.empty(), facts.ports.none_because.empty());
  EXPECT_FALSE(examine(facts).empty());
}

}  // namespace
}  // namespace rdcp::tree
