// The facts about this host on which rdcp's speed and safety depend; examine.h judges them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/numa.h"
#include "net/rails/rdma_facts.h"
#include "tree/doctor/adapter_facts.h"
#include "tree/sandbox/landlock.h"

namespace rdcp::tree {

// The disk beneath a filesystem.
struct DiskFacts {
  std::string filesystem;  // "ext4"; empty if unknown
  std::string device;      // "nvme0n1p2"; empty if there is none, as with tmpfs and NFS
  int numa_node = -1;      // -1 if there is none, or it is unknown
};

struct HostFacts {
  net::RdmaFacts rdma;
  net::RdmaPorts ports;                // the ports of rdma that can be used
  std::vector<AdapterFacts> adapters;  // of each device of rdma
  std::vector<SharedSubnet> shared_subnets;
  std::vector<std::string> idle_adapters;  // PCI addresses of RDMA adapters that no RDMA driver serves
  std::uint64_t lockable_bytes = 0;        // io::lockable_bytes()
  std::string uring_refusal;               // why io_uring cannot be used; empty if it can
  std::string buffers_refusal;             // why it cannot register buffers; empty if it can
  int uring_disabled = 0;                  // kernel.io_uring_disabled (Linux 6.6)
  std::string huge_pages;                  // transparent ones: "always", "madvise", "never"; empty if none
  std::vector<io::NumaNode> numa_nodes;    // io::numa_nodes()
  io::Cpus allowed_cpus;                   // io::allowed_cpus()
  DiskFacts disk;                          // of the current directory
  LandlockSupport landlock;
};

// Asks the kernel, which takes milliseconds, on one thread. It never fails: what cannot be found out keeps
// its default.
HostFacts host_facts();

}  // namespace rdcp::tree
