// How fast memory goes from this host to another one, over RDMA and over TCP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/agent_link.h"
#include "cli/options.h"

namespace rdcp::cli {

struct MeasuredPath {
  tree::Transport transport = tree::Transport::tcp;
  bool reachable = false;  // both ends have what it takes
  std::string failure;     // in words; else:
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::uint32_t chunk_bytes = 0;
  std::vector<io::Words> streams;  // what each ran over
};

// Both agents have said hello. options: --streams, --chunk-size, --via, --ring, and --transport to leave one
// out. Ends early, with what it has, when signal_fd becomes readable.
std::vector<MeasuredPath> measure_paths(const Options& options, AgentLink& here, AgentLink& there,
                                        int signal_fd);

}  // namespace rdcp::cli
