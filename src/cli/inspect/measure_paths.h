// Measures how fast data goes from this host's memory to another host's, over RDMA and over TCP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/inspect/inquiry.h"
#include "cli/options/options.h"
#include "io/words.h"
#include "tree/messages/stream_wish.h"

namespace rdcp::cli {

struct MeasuredPath {
  std::string host;
  tree::Transport transport = tree::Transport::tcp;
  bool reachable = false;  // both ends have what the transport needs
  std::string failure;     // why it failed, in words; if empty, the rest is valid
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::uint32_t chunk_bytes = 0;
  std::optional<std::uint8_t> traffic_class;  // of the packets, where --tos says one
  std::vector<io::Words> streams;             // what each stream ran over
  std::vector<std::string> notes;             // "HOST: ..." of the network's counters and of lost rails
};

// Measures between two agents of the inquiry, which have said hello. It uses the options --streams,
// --chunk-size, --via, --tos, --ring, and --transport (to leave one out). Ends early, with what it has, if a
// signal ends the inquiry.
std::vector<MeasuredPath> measure_paths(const Options& options, Inquiry& inquiry, AgentSession& here,
                                        AgentSession& there);

}  // namespace rdcp::cli
