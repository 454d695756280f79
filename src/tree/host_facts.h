// What rdcp's speed depends on, as this host has it: facts alone; examine.h judges them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/rdma_facts.h"

namespace rdcp::tree {

// The disk beneath a filesystem.
struct DiskFacts {
  std::string filesystem;  // "ext4"; empty: not known
  std::string device;      // "nvme0n1p2"; empty: none, as with tmpfs and NFS
  int numa_node = -1;      // -1: none, or not known
};

struct HostFacts {
  net::RdmaFacts rdma;
  net::RdmaPorts ports;                    // what rdma comes to
  std::vector<std::string> idle_adapters;  // PCI addresses of RDMA adapters that no RDMA driver serves
  std::uint64_t lockable_bytes = 0;        // io::lockable_bytes()
  std::string uring_refusal;               // why io_uring can't be used; empty: it can
  std::string buffers_refusal;             // why it can't register buffers; empty: it can
  int uring_disabled = 0;                  // kernel.io_uring_disabled (Linux 6.6)
  std::string huge_pages;                  // transparent ones: "always", "madvise", "never"; empty: none
  int numa_nodes = 1;
  DiskFacts disk;  // of the current directory
};

// Asks the kernel; takes milliseconds, on one thread. Never fails: what can't be learnt stays as it is above.
HostFacts host_facts();

}  // namespace rdcp::tree
