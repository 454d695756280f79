// The configuration of an agent: what is fixed where it runs and is not for its coordinator to decide.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "io/file.h"
#include "io/ring.h"
#include "net/crypto/seal.h"
#include "tree/messages/message.h"
#include "tree/messages/segment_job.h"
#include "tree/messages/stream_wish.h"
#include "tree/protocol/control.h"
#include "tree/streams/standard_streams.h"
#include "tree/streams/stream_place.h"

namespace rdcp::tree {

// Holds for a coordinator that has proven a key and is otherwise a stranger: it may send one stream of bytes,
// which goes to `path`. What it says of paths and metadata is ignored, and other jobs are refused.
struct ReceiveOnlyPolicy {
  std::string path;                            // a file; empty: standard output
  std::uint32_t mode = 0644;                   // of a new file
  Transport transport = Transport::automatic;  // automatic: the coordinator decides; likewise the next three
  io::CacheMode cache = io::CacheMode::automatic;
  io::RingChoice ring = io::RingChoice::automatic;
  std::string congestion;
  std::string via;  // an address, network interface or RDMA device of this host; empty: any
  net::Sealing encrypt = net::Sealing::rather;  // of streams, whatever the coordinator says
  bool streams_as_told = false;  // the coordinator decides encryption, `via` and which side listens
};

// Who has the kernel hold an agent to its job (tree/sandbox).
enum class Confinement : std::uint8_t {
  of_process,  // the agent; it has a process of its own
  of_thread,   // the agent, for its threads alone: others run in this process. Not where it may use RDMA
  by_caller,   // whoever has started it, for the whole process
  none,        // nobody (--no-landlock)
};

struct AgentConfig {
  std::string program_version = {};
  int signal_fd = -1;  // signalfd(2) of the signals that end the agent; -1: in the coordinator's process
  std::uint32_t umask =
      022;  // the user's, for commands of a pipeline and for files that have no mode of their own
  Confinement confinement = Confinement::of_process;
  std::string note = {};  // what users of -v are told of where the agent runs; empty: nothing
  StandardStreams standard = {};
  StreamPlace streams = {};
  std::optional<net::SealKeys> seal = {};  // keys of the control channel
  std::optional<ReceiveOnlyPolicy> only = {};
  // Is called with each problem that the coordinator is told, from any thread.
  std::function<void(const Problem&)> tell = {};
  // Serves a segment of a pipeline until it is over. Returns false if a part of it hangs in the kernel, so
  // that only the end of the process can help. If empty, this agent runs no segments.
  std::function<bool(const SegmentJob&, ControlChannel&, const AgentConfig&)> run_segment = {};
};

}  // namespace rdcp::tree
