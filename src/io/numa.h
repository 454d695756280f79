// The NUMA nodes of this host (numa(7)), and how a thread goes to one of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"

namespace rdcp::io {

// The numbers of processors, ascending.
using Cpus = std::vector<unsigned>;

// Reads a list as the kernel writes it, "0-3,8-11" (cpuset(7), List format). Returns nothing if it is not
// one.
std::optional<Cpus> parse_cpus(std::string_view list);
// Returns such a list.
std::string text_of(const Cpus& cpus);
Cpus common_cpus(const Cpus& some, const Cpus& others);

struct NumaNode {
  int number = 0;
  Cpus cpus;
};

// Returns the nodes that have processors, by number, from devices/system/node beneath `sysfs`. Those that
// have memory alone are left out, as no thread can go there. Empty if the kernel knows no nodes.
std::vector<NumaNode> numa_nodes(const std::filesystem::path& sysfs = "/sys");

// Returns the processors that the calling thread may run on: those that it inherited, within its cpuset
// (sched_getaffinity(2)).
Cpus allowed_cpus();

// Where a thread and its memory are to be.
struct NumaPlace {
  int node = -1;  // -1: wherever the kernel has them
  Cpus cpus;
  bool anywhere() const { return node < 0; }
};
// Returns the place of a thread that works with a device on `node` (-1: not known) and may run on `allowed`.
// It may be anywhere if there is one node, or if it may run on no processor of that one.
NumaPlace place_near(int node, const std::vector<NumaNode>& nodes, const Cpus& allowed);

// Moves the calling thread to its place, with those that it starts from then on. Memory that they touch first
// comes from the node while that has any (MPOL_PREFERRED, set_mempolicy(2)), unless somebody has chosen
// otherwise for this process (numactl(8)). Error: the kernel refused one of the two, as in a container; the
// other one holds.
Result<void> go_to(const NumaPlace& place);

}  // namespace rdcp::io
