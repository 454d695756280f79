// What of an agent's streams is fixed where the agent runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "net/handshake.h"
#include "net/memory_stream.h"
#include "net/tcp_connect.h"

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

struct StreamPlace {
  LocalStreams* local = nullptr;            // in the coordinator's process only
  std::optional<net::SessionKey> key = {};  // takes the place of the job's key
  // The job takes this listener over. Null: the job opens a listener of its own.
  net::TcpListener* listener = nullptr;
};

}  // namespace rdcp::tree
