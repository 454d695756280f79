#include "tree/doctor/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "io/locked_memory.h"

namespace rdcp::tree {
namespace {

std::string mebibytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMebibyte = 1 << 20;
  return bytes % kMebibyte == 0 ? fmt::format("{} MiB", bytes / kMebibyte)
                                : fmt::format("{} KiB", bytes / 1024);
}

Finding lock_limit(const HostFacts& facts) {
  const char* const subject = "locked memory";
  if (facts.lockable_bytes == io::kNoLockLimit) return {Level::ok, subject, "no limit", ""};
  const std::string limit = "at most " + mebibytes(facts.lockable_bytes) + " (ulimit -l)";
  if (facts.lockable_bytes >= kLockedBytesWanted) return {Level::ok, subject, limit, ""};
  if (facts.rdma.devices.empty()) return {Level::ok, subject, limit + ", enough without RDMA", ""};
  if (facts.lockable_bytes < kLockedBytesLeast) {
    return {Level::problem, subject, limit + ", too little for RDMA: TCP will be used", io::kHowToLockMore};
  }
  return {Level::warning, subject, limit + ", so RDMA uses less memory than is best for speed",
          io::kHowToLockMore};
}

std::string uring_advice(const HostFacts& facts) {
  if (facts.uring_disabled != 0) return "sysctl -w kernel.io_uring_disabled=0";
  return "in a container, allow io_uring_setup, io_uring_enter and io_uring_register in its seccomp profile; "
         "elsewhere, use Linux 5.11 or later";
}

// Says what tree/streams/stream_placement.h would do with the streams of a device.
Finding placement_of(const HostFacts& facts, const net::RdmaDeviceFacts& device) {
  const std::string node = fmt::format("on NUMA node {}", device.numa_node);
  const io::NumaPlace place = io::place_near(device.numa_node, facts.numa_nodes, facts.allowed_cpus);
  if (!place.anywhere()) {
    return {Level::ok, device.name,
            fmt::format("{}, and so its streams run there, on processors {}", node, io::text_of(place.cpus)),
            ""};
  }
  return {Level::warning, device.name,
          node + ", of whose processors this process may use none, so its streams run far from it",
          fmt::format("give rdcp processors of node {} as well: taskset(1), numactl(8), or the cpuset of the "
                      "container",
                      device.numa_node)};
}

// Compares the NUMA nodes of the RDMA devices with the disk's and this process's.
void compare_nodes(const HostFacts& facts, std::vector<Finding>& findings) {
  for (const net::RdmaDeviceFacts& device : facts.rdma.devices) {
    if (device.numa_node < 0) continue;
    Finding finding = placement_of(facts, device);
    if (facts.disk.numa_node >= 0 && facts.disk.numa_node != device.numa_node) {
      finding.level = Level::warning;
      finding.text +=
          fmt::format("; the disk is on node {}: each byte goes between them", facts.disk.numa_node);
      finding.advice +=
          fmt::format("{}where there is a choice, take a device on node {} (--via) or a disk on node {}",
                      finding.advice.empty() ? "" : "; ", facts.disk.numa_node, device.numa_node);
    }
    findings.push_back(std::move(finding));
  }
}

std::string disk_text(const DiskFacts& disk) {
  if (disk.filesystem.empty()) return "not known";
  if (disk.device.empty()) return disk.filesystem + " (of the current directory), no disk of its own";
  std::string text = disk.filesystem + " on " + disk.device;
  if (disk.numa_node >= 0) text += fmt::format(", NUMA node {}", disk.numa_node);
  return text + " (of the current directory)";
}

}  // namespace

std::string_view describe(Level level) {
  switch (level) {
    case Level::ok:
      return "ok";
    case Level::warning:
      return "warning";
    case Level::problem:
      break;
  }
  return "problem";
}

void examine_memory(const HostFacts& facts, std::vector<Finding>& findings) {
  findings.push_back(lock_limit(facts));
  Finding huge{Level::ok, "huge pages", "transparent huge pages are on (" + facts.huge_pages + ")", ""};
  if (facts.huge_pages.empty()) huge.text = "this kernel has no transparent huge pages";
  if (facts.huge_pages == "never") {
    huge = {Level::warning, "huge pages",
            "transparent huge pages are off, so memory takes longer to register",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
  }
  findings.push_back(std::move(huge));
}

void examine_io(const HostFacts& facts, std::vector<Finding>& findings) {
  Finding ring{Level::ok, "io_uring", "works, with registered buffers", ""};
  if (!facts.uring_refusal.empty()) {
    ring = {Level::warning, "io_uring", "a thread pool does its work: " + facts.uring_refusal,
            uring_advice(facts)};
  } else if (!facts.buffers_refusal.empty()) {
    ring = {Level::warning, "io_uring", "works, without registered buffers: " + facts.buffers_refusal,
            facts.buffers_refusal.find("memlock") != std::string::npos ? io::kHowToLockMore : ""};
  }
  findings.push_back(std::move(ring));
}

void examine_nearness(const HostFacts& facts, std::vector<Finding>& findings) {
  findings.push_back({Level::ok, "disk", disk_text(facts.disk), ""});
  if (facts.numa_nodes.size() > 1) compare_nodes(facts, findings);
}

// Judges by the versions that tree/sandbox/landlock.h lists.
void examine_sandbox(const HostFacts& facts, std::vector<Finding>& findings) {
  constexpr int kLinksFrom = 2;
  constexpr int kTcpFrom = 4;
  const int abi = facts.landlock.abi;
  Finding sandbox{Level::ok, "sandbox", fmt::format("Landlock ABI {}", abi), ""};
  if (abi == 0) {
    sandbox = {Level::warning, "sandbox", "none, so an agent may do what its user may",
               facts.landlock.none_because};
  } else if (abi < kLinksFrom) {
    sandbox.level = Level::warning;
    sandbox.text += ", which refuses hard links between directories, so who receives a tree has no sandbox";
    sandbox.advice = "use Linux 5.19 or later";
  } else if (abi < kTcpFrom) {
    sandbox.text += ", which does not limit connections (Linux 6.7 does)";
  }
  findings.push_back(std::move(sandbox));
}

std::vector<Finding> examine(const HostFacts& facts) {
  std::vector<Finding> findings;
  examine_rdma(facts, findings);
  examine_adapters(facts, findings);
  examine_memory(facts, findings);
  examine_io(facts, findings);
  examine_nearness(facts, findings);
  examine_sandbox(facts, findings);
  return findings;
}

}  // namespace rdcp::tree
