// Judges a host: each fact that matters is ok, could be better, or prevents rdcp from working, with advice on
// what to do then.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/doctor/host_facts.h"
#include "tree/messages/finding.h"

namespace rdcp::tree {

// The memory that an agent locks for RDMA. With less than the first value RDMA cannot be used; from the
// second one on nothing is reduced.
inline constexpr std::uint64_t kLockedBytesLeast = 226 << 10;
inline constexpr std::uint64_t kLockedBytesWanted = 66 << 20;

// Turns facts into findings, one per line of output. It looks at nothing but the facts. A host without RDMA
// is not a problem.
std::vector<Finding> examine(const HostFacts& facts);

// The parts of examine().
void examine_rdma(const HostFacts& facts, std::vector<Finding>& findings);
void examine_adapters(const HostFacts& facts, std::vector<Finding>& findings);
void examine_memory(const HostFacts& facts, std::vector<Finding>& findings);
void examine_io(const HostFacts& facts, std::vector<Finding>& findings);
void examine_nearness(const HostFacts& facts, std::vector<Finding>& findings);

}  // namespace rdcp::tree
