// One side of a copy on one host: obeys a coordinator over a control channel. Runs as `rdcp --agent` behind
// ssh, or as a thread of the coordinator's own process.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "io/fd.h"
#include "net/memory_stream.h"

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

struct AgentPlace {
  std::string program_version;
  int signal_fd = -1;  // signalfd(2) of the signals that end the agent; -1: in the coordinator's process
  LocalStreams* local = nullptr;  // in the coordinator's process only
};

// A peer that says nothing for this long is taken for dead.
inline constexpr std::chrono::seconds kSilenceMax{25};
inline constexpr std::chrono::milliseconds kProgressInterval{200};
inline constexpr std::chrono::seconds kBeatInterval{5};

// Serves one job: until the coordinator says finish, goes away, stays silent for kSilenceMax, or a signal
// comes. All that the job holds is given back before it returns; false: something of the job hangs in the
// kernel (a dead network filesystem), and only the end of the process can help.
bool run_agent(io::Fd in, io::Fd out, const AgentPlace& place);

}  // namespace rdcp::tree
