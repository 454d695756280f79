// The streams of an agent's job: its own, and those to the next targets.
#pragma once

#include <chrono>
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
  JobStreams(const StreamPlace& place, std::function<void(const BranchLost&)> lost)
      : place_(place), chain_(place, std::move(lost)) {
    begin_anew();
  }

  // Gives up what there is for another job.
  void begin_anew() {
    own_ = std::make_unique<StreamSetup>(place_);
    own_->set_traffic_class(traffic_class_);
  }
  StreamSetup& own() { return *own_; }
  ChainLink& chain() { return chain_; }
  // To be called before the job begins.
  void hear_of_path(const PathTold& told) {
    const std::chrono::microseconds round_trip(told.microseconds);
    own_->set_round_trip(round_trip);
    own_->expect_streams(told.streams);
    chain_.set_round_trip(round_trip);
  }
  // The same: which class the packets of all streams are to carry, those of later jobs included.
  void set_traffic_class(std::optional<std::uint8_t> traffic_class) {
    traffic_class_ = traffic_class;
    own_->set_traffic_class(traffic_class);
    chain_.set_traffic_class(traffic_class);
  }
  // To be called before the job begins: all threads, memory and completion queues stay where they are.
  void leave_placement() {
    own_->leave_placement();
    chain_.leave_placement();
  }
  // Returns the TCP ports that this agent connects to from now on, or nothing if that is not restricted: RDMA
  // may be used, or it never could connect.
  std::optional<std::vector<std::uint16_t>> connects_to(const Begin& begin) const;
  // Returns what went wrong on the way to the connections, in words.
  std::vector<io::Words> notes() const;
  // Any thread may call this.
  void stop();

 private:
  const StreamPlace& place_;
  std::optional<std::uint8_t> traffic_class_;
  std::unique_ptr<StreamSetup> own_;
  ChainLink chain_;
};

}  // namespace rdcp::tree
