// What is fixed where an agent runs, and not its coordinator's to say.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "net/handshake.h"
#include "net/memory_stream.h"
#include "net/tcp_connect.h"
#include "tree/job.h"
#include "tree/message.h"

namespace rdcp::tree {

// The in-process connections of a copy from local to local: both agents ask for them by stream index.
class LocalStreams {
 public:
  std::shared_ptr<net::MemoryChannel> channel(std::uint16_t index) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<net::MemoryChannel>& channel = channels_[index];
    if (channel == nullptr) channel = net::make_memory_channel();
    return channel;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint16_t, std::shared_ptr<net::MemoryChannel>> channels_;
};

// What a job's standard input and output are; the caller's, never closed here.
struct StandardStreams {
  int input = STDIN_FILENO;
  int output = STDOUT_FILENO;
  // A regular file as input is read by extents, from where it stands; else as a pipe is.
  bool input_by_extents = false;
  std::string input_name = "standard input";  // for messages
  std::string output_name = "standard output";
};

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
  LocalStreams* local = nullptr;  // in the coordinator's process only
  StandardStreams standard = {};
  std::optional<net::SessionKey> key = {};  // of the streams, instead of the job's
  std::optional<net::SealKeys> seal = {};   // of the control channel
  net::TcpListener* listener = nullptr;     // for the streams, taken over by the job; null: it opens its own
  std::optional<OnlyTarget> only = {};
  std::function<void(const Problem&)> tell =
      {};  // hears of each problem that the coordinator is told; any thread
};

}  // namespace rdcp::tree
