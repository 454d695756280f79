// The configuration of an agent, which is fixed where it runs and is not for its coordinator to decide, and
// how an agent ends.
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
  // The user's, for commands of a pipeline and for files that have no mode of their own.
  std::uint32_t umask = 022;
  Confinement confinement = Confinement::of_process;
  bool has_rejoin_socket = false;  // its coordinator may lose the connection and come back
  std::string note = {};           // what users of -v are told of where the agent runs; empty: nothing
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

// How an agent ended.
struct AgentEnd {
  bool complete = false;      // false: a part of the job hangs in the kernel (a dead network filesystem), and
                              // only the end of the process can help
  std::optional<int> signal;  // the signal that ended it
  bool aborted = false;       // the coordinator gave up
  std::optional<std::uint8_t> status;  // the coordinator's Finish::status; none: it went away without one
  std::optional<Done> done;            // the result of the copy, if it came to its end
  double seconds = 0;                  // how long the copy took
};

}  // namespace rdcp::tree
