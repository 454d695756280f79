// What is fixed where an agent runs, and not its coordinator's to say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "io/file.h"
#include "io/ring.h"
#include "net/seal.h"
#include "tree/control.h"
#include "tree/message.h"
#include "tree/segment_job.h"
#include "tree/standard_streams.h"
#include "tree/stream_place.h"
#include "tree/stream_wish.h"

namespace rdcp::tree {

// For a coordinator that has proven a key and is a stranger otherwise: it may send one stream of bytes, which
// goes here. What it says of paths and metadata is ignored, and other jobs are refused.
struct OnlyTarget {
  std::string path;                            // a file; empty: standard output
  std::uint32_t mode = 0644;                   // of a new file
  Transport transport = Transport::automatic;  // automatic: as the coordinator says; the same of what follows
  io::CacheMode cache = io::CacheMode::automatic;
  io::RingChoice ring = io::RingChoice::automatic;
  std::string congestion;
  std::string via;               // an address, network interface or RDMA device of this host; empty: any
  bool encrypt = false;          // the streams; not the coordinator's to say either
  bool streams_as_told = false;  // the coordinator is no stranger: it says which side listens, and where
};

struct AgentPlace {
  std::string program_version;
  int signal_fd = -1;  // signalfd(2) of the signals that end the agent; -1: in the coordinator's process
  std::uint32_t umask =
      022;  // of the user: for a pipeline's commands, and files that have no mode of their own
  StandardStreams standard = {};
  StreamPlace streams = {};
  std::optional<net::SealKeys> seal = {};  // of the control channel
  std::optional<OnlyTarget> only = {};
  // Hears of each problem that the coordinator is told; any thread.
  std::function<void(const Problem&)> tell = {};
  // Serves a segment of a pipeline until it is over. False: a part of it hangs in the kernel, and only the
  // end of the process can help. Empty: this agent runs no segments.
  std::function<bool(const SegmentJob&, ControlChannel&, const AgentPlace&)> run_segment = {};
};

}  // namespace rdcp::tree
