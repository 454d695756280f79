// Holds the settings of an agent's streams that are fixed where it runs, and its coordinator's hints.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "net/crypto/handshake.h"
#include "net/stream/memory_stream.h"
#include "net/tcp/tcp_connect.h"

namespace rdcp::tree {

// The in-process connections of a copy from local to local. Both agents look them up by stream index.
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
  LocalStreams* local = nullptr;            // only in the coordinator's process
  std::optional<net::SessionKey> key = {};  // replaces the job's key
  // Packets have this one instead of the one that the coordinator asks for.
  std::optional<std::uint8_t> traffic_class = {};
  // The job takes this listener over. If it is null, the job opens one of its own.
  net::TcpListener* listener = nullptr;
  bool numa = true;  // false: workers stay where they are, whatever the coordinator says (--no-numa)
};

// Helps to make connections well.
struct StreamHints {
  // How long a message and its answer take to the other side; 0: not known.
  std::chrono::microseconds round_trip{0};
  // How many streams there will be; 0: not known.
  std::size_t streams = 0;
  // Which class the packets of the connections are to carry, unless the place has one.
  std::optional<std::uint8_t> traffic_class{};
  // The first connections over TCP may be proven early.
  std::optional<net::EarlyTerms> early{};
};

}  // namespace rdcp::tree
