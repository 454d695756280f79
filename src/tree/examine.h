// Judges what a host is like: each fact that matters is ok, could be better, or keeps rdcp from doing its
// work, and what to do then.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/finding.h"
#include "tree/host_facts.h"

namespace rdcp::tree {

// What an agent locks for RDMA: with less than the first RDMA can't be used, from the second on nothing
// shrinks.
inline constexpr std::uint64_t kLockedBytesLeast = 226 << 10;
inline constexpr std::uint64_t kLockedBytesWanted = 66 << 20;

// Facts to findings, one a line; nothing but the facts is looked at. RDMA where there is none is no problem.
std::vector<Finding> examine(const HostFacts& facts);

// Its parts.
void examine_rdma(const HostFacts& facts, std::vector<Finding>& findings);
void examine_memory(const HostFacts& facts, std::vector<Finding>& findings);
void examine_io(const HostFacts& facts, std::vector<Finding>& findings);
void examine_nearness(const HostFacts& facts, std::vector<Finding>& findings);

}  // namespace rdcp::tree
