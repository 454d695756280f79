// The streams of an agent's job: its own, and those to the next target of a chain.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tree/agent/chain_link.h"
#include "tree/streams/stream_setup.h"

namespace rdcp::tree {

class JobStreams {
 public:
  // These are as for ChainLink.
  JobStreams(const StreamPlace& place, std::function<void(const NextLost&)> lost)
      : place_(place), chain_(place, std::move(lost)) {
    begin_anew();
  }

  // Gives up what there is for another job.
  void begin_anew() { own_ = std::make_unique<StreamSetup>(place_); }
  StreamSetup& own() { return *own_; }
  ChainLink& chain() { return chain_; }
  // Returns the TCP ports that this agent connects to from now on, or nothing if that is not restricted: RDMA
  // may be used, or it never could connect.
  std::optional<std::vector<std::uint16_t>> connects_to(const Begin& begin) const;
  // Returns what went wrong on the way to the connections, in words.
  std::vector<io::Words> notes() const;
  // Any thread may call this.
  void stop();

 private:
  const StreamPlace& place_;
  std::unique_ptr<StreamSetup> own_;
  ChainLink chain_;
};

}  // namespace rdcp::tree
